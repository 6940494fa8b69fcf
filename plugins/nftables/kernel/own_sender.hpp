// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which of the kernel's notifications are of our own doing: those of the port our transactions are sent from. It is another one
// whenever that socket is opened again.
#pragma once

#include <linux/netfilter/nfnetlink.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "plugins/common/netlink/wire.hpp"

namespace sluice::nftables {

// Any thread.
class OwnSender {
 public:
  // Transactions are sent from this port from now on. Called before the first of them.
  void opened(std::uint32_t port) noexcept {
    const std::lock_guard lock(mutex_);
    port_ = port;
    if (listener_ != nullptr) listener_->leave_out(port_);
  }
  // Notifications come in there; null: nowhere any more. The wire is used until the next call, and so is `missed`, which is called on
  // any thread when some may have been missed. Returns the result of Wire::leave_out().
  int listen(netlink::Wire* listener, std::function<void()> missed = {}) {
    const std::lock_guard lock(mutex_);
    listener_ = listener;
    missed_ = std::move(missed);
    return listener_ == nullptr ? 0 : listener_->leave_out(port_);
  }
  bool has_listener() const noexcept {
    const std::lock_guard lock(mutex_);
    return listener_ != nullptr;
  }
  // The kernel makes no notifications for the listener from now on, or does again.
  void hear(bool on) noexcept {
    const std::lock_guard lock(mutex_);
    if (listener_ != nullptr) listener_->listen(NFNLGRP_NFTABLES, on);
  }
  void missed() const {
    const std::lock_guard lock(mutex_);
    if (missed_) missed_();
  }
  bool is(std::uint32_t port) const noexcept {
    const std::lock_guard lock(mutex_);
    return port_ != 0 && port == port_;
  }

 private:
  mutable std::mutex mutex_;
  std::uint32_t port_ = 0;
  netlink::Wire* listener_ = nullptr;
  std::function<void()> missed_;
};

}  // namespace sluice::nftables
