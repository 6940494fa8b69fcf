// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/own_senders.hpp"

#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <utility>

namespace sluice::nftables {

// If the kernel cannot filter, EventReader does.
void OwnSenders::update_filters() noexcept {
  for (const Listener& listener : listeners_) listener.wire->ignore_senders(ports_);
}

void OwnSenders::opened(std::uint32_t port) {
  const lib::Lock lock(mutex_);
  ports_.push_back(port);
  update_filters();
}

void OwnSenders::closing(std::uint32_t port) noexcept {
  const lib::Lock lock(mutex_);
  const auto found = std::find(ports_.begin(), ports_.end(), port);
  if (found == ports_.end()) return;
  ports_.erase(found);
  update_filters();
}

int OwnSenders::listen(lib::netlink::Wire& wire, Missed missed) {
  const lib::Lock lock(mutex_);
  listeners_.push_back({&wire, std::move(missed), 0});
  wire.ignore_senders(ports_);
  const int error = wire.listen(NFNLGRP_NFTABLES, true);
  if (error != 0) listeners_.pop_back();
  return error;
}

void OwnSenders::leave(const lib::netlink::Wire& wire) noexcept {
  const lib::Lock lock(mutex_);
  std::erase_if(listeners_, [&](const Listener& listener) { return listener.wire == &wire; });
}

void OwnSenders::listen_again(lib::netlink::Wire& wire) noexcept {
  const lib::Lock lock(mutex_);
  for (Listener& listener : listeners_) {
    if (listener.wire != &wire || listener.error == 0) continue;
    if (wire.listen(NFNLGRP_NFTABLES, true) != 0) continue;
    listener.error = 0;
    listener.missed(0);
  }
}

bool OwnSenders::has_listener() const noexcept {
  const lib::Lock lock(mutex_);
  return !listeners_.empty();
}

void OwnSenders::set_listening(bool on) noexcept {
  const lib::Lock lock(mutex_);
  for (Listener& listener : listeners_) {
    const int error = listener.wire->listen(NFNLGRP_NFTABLES, on);
    // A failure to switch off only costs time.
    if (!on || (error != 0) == (listener.error != 0)) continue;
    listener.error = error;
    listener.missed(error);
  }
}

void OwnSenders::missed() const {
  const lib::Lock lock(mutex_);
  for (const Listener& listener : listeners_) {
    if (listener.error == 0) listener.missed(0);
  }
}

bool OwnSenders::contains(std::uint32_t port) const noexcept {
  const lib::Lock lock(mutex_);
  return port != 0 && std::find(ports_.begin(), ports_.end(), port) != ports_.end();
}

}  // namespace sluice::nftables
