// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/tcp_conditions.hpp"

#include <algorithm>
#include <exception>
#include <system_error>

namespace sluice::userspace {
namespace {

struct Sentences {
  const char* begins;
  const char* ends;
};

constexpr std::array<Sentences, kTcpShortages> kSentences{{
    {"no file descriptors are left for clients: new TCP connections wait until others end; raise LimitNOFILE of the service, or "
     "fs.file-max of the node, if this lasts",
     "there are file descriptors again: new TCP connections are accepted"},
    {"the kernel has no memory for sockets: new TCP connections wait until others end; see net.ipv4.tcp_mem and the "
     "memory of the node",
     "there is memory for sockets again: new TCP connections are accepted"},
    {"no local ports are left towards an endpoint: new TCP connections wait; widen net.ipv4.ip_local_port_range, or "
     "set net.ipv4.tcp_tw_reuse to 1",
     "there are local ports again: new TCP connections are accepted"},
    {"as many TCP connections are open as maxConnections allows: new ones wait until others end",
     "fewer TCP connections are open than maxConnections allows: new ones are accepted"},
    {"a listening socket cannot be watched, it is tried again: see fs.epoll.max_user_watches and the memory of the "
     "node",
     "all listening sockets are watched again"},
}};

const Sentences& sentences(TcpShortage shortage) noexcept { return kSentences[static_cast<std::size_t>(shortage)]; }

}  // namespace

std::uint64_t TcpConditions::add_report(Report report) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reports_.emplace_back(++last_id_, std::move(report));
  return last_id_;
}

void TcpConditions::remove_report(std::uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(reports_, [&](const auto& entry) { return entry.first == id; });
}

void TcpConditions::begins(TcpShortage shortage, int error) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (threads_[static_cast<std::size_t>(shortage)]++ == 0) tell(true, sentences(shortage).begins, error);
}

void TcpConditions::ends(TcpShortage shortage) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (--threads_[static_cast<std::size_t>(shortage)] == 0) tell(false, sentences(shortage).ends, 0);
}

void TcpConditions::tell(bool begins, const char* sentence, int error) noexcept {
  try {
    std::string text = sentence;
    if (error != 0) text += " (" + std::system_category().message(error) + ")";
    for (const auto& [id, report] : reports_) report(begins, text);
  } catch (const std::exception&) {
    // Nothing is left to say it with; the counters have it.
  }
}

}  // namespace sluice::userspace
