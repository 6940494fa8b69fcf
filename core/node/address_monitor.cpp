// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/node/address_monitor.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "core/base/log.hpp"

namespace sluice::node {
namespace {

int poll_timeout(base::Clock::Time now, base::Clock::Time due) {
  if (due == base::Clock::Time::max()) return -1;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(due - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(wait, 0, 60'000));
}

}  // namespace

base::Status AddressMonitor::subscribe() {
  netlink_ = base::Fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  if (!netlink_.valid()) return base::errno_status("cannot watch the addresses of this node", errno);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  if (::bind(netlink_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    netlink_.reset();
    return base::errno_status("cannot watch the addresses of this node", error);
  }
  return {};
}

base::Result<InterfaceAddresses> AddressMonitor::start() {
  wake_ = base::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid()) return base::errno_status("cannot watch the addresses of this node", errno);
  if (const base::Status status = subscribe(); !status.ok()) return status;
  base::Result<InterfaceAddresses> addresses = options_.read();
  if (!addresses) return addresses;
  last_ = *addresses;
  thread_ = std::thread([this] { run(); });
  return addresses;
}

void AddressMonitor::stop() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  // Cannot fail: the counter is far from its limit.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

void AddressMonitor::run() {
  for (;;) {
    pollfd waits[] = {{wake_.get(), POLLIN, 0}, {netlink_.get(), POLLIN, 0}};
    // A closed socket is -1, which poll() skips: the retry subscribes again.
    const int ready = ::poll(waits, 2, poll_timeout(clock_.now(), debounce_.due()));
    if (ready < 0 && errno != EINTR) {
      base::log_error("node",
                      "watching the addresses of this node ended: " + base::errno_status("poll", errno).message());
      return;
    }
    if (ready > 0 && waits[0].revents != 0) return;
    if (ready > 0 && waits[1].revents != 0 && drain()) debounce_.event(clock_.now());
    if (debounce_.take(clock_.now())) refresh();
  }
}

bool AddressMonitor::drain() {
  alignas(nlmsghdr) char buffer[8192];
  bool any = false;
  for (;;) {
    // What a message says is not looked at, so a cut one is as good as a whole one.
    const ssize_t n = ::recv(netlink_.get(), buffer, sizeof buffer, MSG_TRUNC);
    if (n > 0) {
      any = true;
    } else if (n < 0 && (errno == ENOBUFS || errno == EINTR)) {
      any = true;  // notifications were lost: the addresses may have changed
    } else if (n < 0 && errno == EAGAIN) {
      return any;
    } else {
      netlink_.reset();
      debounce_.retry(clock_.now(), options_.retry);
      return false;
    }
  }
}

void AddressMonitor::refresh() {
  const base::Status subscribed = netlink_.valid() ? base::Status() : subscribe();
  const base::Result<InterfaceAddresses> now = subscribed.ok() ? options_.read() : subscribed;
  if (!now) {
    base::log_warning("node", now.status().message() + "; trying again");
    debounce_.retry(clock_.now(), options_.retry);
    return;
  }
  if (*now == last_) return;
  last_ = *now;
  options_.changed(last_);
}

}  // namespace sluice::node
