// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/table_watch.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/signals_blocked.hpp"
#include "plugins/common/netlink/error.hpp"

namespace sluice::nftables {
namespace {

constexpr std::size_t kBuffer = 64 * 1024;  // notifications come in pages
constexpr std::chrono::milliseconds kPause{1000};

}  // namespace

NetlinkWatch::NetlinkWatch(abi::Family family, netlink::OpenRawSocket open, std::shared_ptr<OwnSenders> own)
    : open_(std::move(open)), own_(std::move(own)), reader_(family, *own_) {}

NetlinkWatch::~NetlinkWatch() {
  end_thread();
  if (socket_) own_->leave(*socket_);
}

void NetlinkWatch::end_thread() {
  if (!thread_.joinable()) return;
  ending_ = true;
  wake_.signal();
  thread_.join();
  ending_ = false;
}

bool NetlinkWatch::finish() {
  if (!thread_.joinable()) return false;
  end_thread();
  std::vector<char> buffer(kBuffer);
  const bool works = drain(buffer);
  return works && armed_ && !missed_ && listen_error_ == 0 && !reader_.changed();
}

void NetlinkWatch::start(Changed changed) {
  if (thread_.joinable()) return;
  // After a failed start, own_ may use it already.
  if (const int failure = wake_.valid() ? 0 : wake_.open(); failure != 0) {
    netlink::fail(failure, "nf_tables", "cannot listen to changes of nf_tables: no eventfd");
  }
  if (!socket_) {
    std::unique_ptr<lib::netlink::RawSocket> socket = open_();
    // If the kernel cannot filter out our own writes, the reader does.
    const int refused = own_->listen(*socket, [this](int error) {
      listen_error_ = error;
      missed_ = true;
      wake_.signal();
    });
    if (refused != 0) netlink::fail(refused, "nf_tables", "cannot listen to changes of nf_tables");
    socket_ = std::move(socket);
  }
  changed_ = std::move(changed);
  const lib::SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& caught) {
    netlink::fail(caught.code().value(), "nf_tables", "cannot start a thread that listens to changes of nf_tables");
  }
}

void NetlinkWatch::run() {
  using Clock = std::chrono::steady_clock;
  std::vector<char> buffer(kBuffer);
  bool works = true;
  Clock::time_point first{};  // arrival of the change whose process is not known yet
  while (!ending_) {
    pollfd wait[] = {{wake_.descriptor(), POLLIN, 0}, {works ? socket_->descriptor() : -1, POLLIN, 0}};
    int timeout = works && listen_error_ == 0 ? -1 : static_cast<int>(kPause.count());
    if (reader_.changed()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(first + kWaitForName - Clock::now());
      timeout = static_cast<int>(std::max<long>(0, left.count()));
    }
    ::poll(wait, 2, timeout);
    if (ending_) return;
    const bool before = reader_.changed();
    if (wake_.drain() && missed_.exchange(false)) {
      if (const int error = listen_error_; error != 0) {
        reader_.listening_failed(error);
      } else {
        reader_.missed();
      }
    }
    // Before the report, so that a listing made because of it covers the time without notifications.
    if (listen_error_ != 0) own_->listen_again(*socket_);
    works = drain(buffer);
    if (!before && reader_.changed()) first = Clock::now();
    if (reader_.complete() || (reader_.changed() && Clock::now() >= first + kWaitForName)) report();
  }
}

bool NetlinkWatch::drain(std::vector<char>& buffer) {
  for (;;) {
    const long size = socket_->receive(std::span<char>(buffer), std::chrono::milliseconds(0));
    if (size == -EAGAIN) return true;
    if (size == -EINTR) continue;
    if (size > static_cast<long>(buffer.size())) {
      reader_.lost();
      buffer.resize(static_cast<std::size_t>(size));
    } else if (size >= 0) {
      reader_.read({buffer.data(), static_cast<std::size_t>(size)});
    } else {
      reader_.lost();
      if (size != -ENOBUFS) return false;
    }
    // Also report a process that writes without end.
    if (reader_.complete() || ending_) return true;
  }
}

void NetlinkWatch::report() {
  if (!armed_.exchange(false)) return reader_.forget();
  changed_(reader_.take());
}

}  // namespace sluice::nftables
