// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/own_senders.hpp"

#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <utility>

namespace sluice::nftables {

// If the kernel cannot filter, EventReader does.
void OwnSenders::update_filters() noexcept {
  for (const Listener& listener : listeners_) listener.socket->ignore_senders(port_ids_);
}

void OwnSenders::opened(std::uint32_t port_id) {
  const lib::Lock lock(mutex_);
  port_ids_.push_back(port_id);
  update_filters();
}

void OwnSenders::closing(std::uint32_t port_id) noexcept {
  const lib::Lock lock(mutex_);
  const auto found = std::find(port_ids_.begin(), port_ids_.end(), port_id);
  if (found == port_ids_.end()) return;
  port_ids_.erase(found);
  update_filters();
}

int OwnSenders::listen(lib::netlink::RawSocket& socket, Missed missed) {
  const lib::Lock lock(mutex_);
  listeners_.push_back({&socket, std::move(missed), 0});
  socket.ignore_senders(port_ids_);
  const int error = socket.set_membership(NFNLGRP_NFTABLES, true);
  if (error != 0) listeners_.pop_back();
  return error;
}

void OwnSenders::leave(const lib::netlink::RawSocket& socket) noexcept {
  const lib::Lock lock(mutex_);
  std::erase_if(listeners_, [&](const Listener& listener) { return listener.socket == &socket; });
}

void OwnSenders::listen_again(lib::netlink::RawSocket& socket) noexcept {
  const lib::Lock lock(mutex_);
  for (Listener& listener : listeners_) {
    if (listener.socket != &socket || listener.error == 0) continue;
    if (socket.set_membership(NFNLGRP_NFTABLES, true) != 0) continue;
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
    const int error = listener.socket->set_membership(NFNLGRP_NFTABLES, on);
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

bool OwnSenders::contains(std::uint32_t port_id) const noexcept {
  const lib::Lock lock(mutex_);
  return port_id != 0 && std::find(port_ids_.begin(), port_ids_.end(), port_id) != port_ids_.end();
}

}  // namespace sluice::nftables
