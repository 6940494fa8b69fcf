// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/change_monitor.hpp"

#include <linux/netfilter/nfnetlink.h>

#include <cerrno>
#include <span>

#include "plugins/common/netlink/error.hpp"

namespace sluice::nftables {
namespace {

constexpr std::size_t kMonitorBuffer = 64 * 1024;  // notifications come in pages
constexpr int kMaxDatagrams = 256;                 // a process that writes without pause must not block the reader

}  // namespace

ChangeMonitor::ChangeMonitor(abi::Family family, const netlink::OpenRawSocket& open, std::chrono::milliseconds timeout)
    : timeout_(timeout), events_(family, no_senders_), socket_(open()), buffer_(kMonitorBuffer) {
  const int error = socket_->set_membership(NFNLGRP_NFTABLES, true);
  if (error != 0) netlink::fail(error, "nf_tables", "cannot listen to changes of nf_tables while a table is read");
}

bool ChangeMonitor::poll() {
  for (int i = 0; i < kMaxDatagrams && !events_.changed() && receive(std::chrono::milliseconds(0)); ++i) {
  }
  return events_.changed();
}

// The kernel sends the changes of a transaction before its generation.
bool ChangeMonitor::untouched(std::uint32_t generation) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + timeout_;
  while (!events_.changed()) {
    const std::uint32_t received = events_.generation();
    if (received != 0 && static_cast<std::int32_t>(received - generation) >= 0) return true;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() < 0 || !receive(left)) events_.lost();
  }
  return false;
}

// Names the process if the kernel has sent that already.
std::string ChangeMonitor::take() {
  for (int i = 0; i < kMaxDatagrams && !events_.complete() && receive(std::chrono::milliseconds(0)); ++i) {
  }
  return events_.take();
}

bool ChangeMonitor::receive(std::chrono::milliseconds timeout) {
  const long size = socket_->receive(std::span<char>(buffer_), timeout);
  if (size == -EAGAIN) return false;
  if (size == -EINTR) return true;
  if (size >= 0 && size <= static_cast<long>(buffer_.size())) {
    events_.read({buffer_.data(), static_cast<std::size_t>(size)});
  } else {
    events_.lost();
  }
  return true;
}

}  // namespace sluice::nftables
