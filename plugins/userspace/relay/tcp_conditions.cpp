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
    {"out of file descriptors for clients: new TCP connections wait until others end; if this lasts, raise LimitNOFILE "
     "of "
     "the service or fs.file-max of the node",
     "file descriptors are available again: accepting TCP connections"},
    {"out of kernel memory for sockets: new TCP connections wait until others end; check net.ipv4.tcp_mem and the "
     "memory "
     "of the node",
     "kernel memory for sockets is available again: accepting TCP connections"},
    {"out of local ports towards an endpoint: new TCP connections wait; widen net.ipv4.ip_local_port_range, or set "
     "net.ipv4.tcp_tw_reuse to 1",
     "local ports are available again: accepting TCP connections"},
    {"limit maxConnections reached: new TCP connections wait until others end",
     "below the limit maxConnections again: accepting TCP connections"},
    {"cannot watch a listening socket, retrying: check fs.epoll.max_user_watches and the memory of the node",
     "all listening sockets are watched again"},
}};

const Sentences& sentences(TcpShortage shortage) noexcept { return kSentences[static_cast<std::size_t>(shortage)]; }

}  // namespace

std::uint64_t TcpConditions::add_report(Report report) {
  const lib::Lock lock(mutex_);
  reports_.emplace_back(++last_id_, std::move(report));
  return last_id_;
}

void TcpConditions::remove_report(std::uint64_t id) {
  const lib::Lock lock(mutex_);
  std::erase_if(reports_, [&](const auto& entry) { return entry.first == id; });
}

void TcpConditions::begins(TcpShortage shortage, int error) noexcept {
  const lib::Lock lock(mutex_);
  if (threads_[static_cast<std::size_t>(shortage)]++ == 0) report(true, sentences(shortage).begins, error);
}

void TcpConditions::ends(TcpShortage shortage) noexcept {
  const lib::Lock lock(mutex_);
  if (--threads_[static_cast<std::size_t>(shortage)] == 0) report(false, sentences(shortage).ends, 0);
}

void TcpConditions::report(bool begins, const char* sentence, int error) noexcept {
  try {
    std::string text = sentence;
    if (error != 0) text += " (" + std::system_category().message(error) + ")";
    for (const auto& [id, report] : reports_) report(begins, text);
  } catch (const std::exception&) {
    // No memory for the message; the counters still show the shortage.
  }
}

}  // namespace sluice::userspace
