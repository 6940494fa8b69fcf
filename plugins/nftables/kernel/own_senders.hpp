// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The sockets of this process that write to nf_tables, and those that listen to it: what the first ones do is not to be told to
// any of the second ones. One object for both families, which hear each other. All sockets are of one network namespace.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "plugins/common/netlink/wire.hpp"

namespace sluice::nftables {

// Any thread.
class OwnSenders {
 public:
  // Some notifications may have been missed. `error`: not 0, and none come in until listen_again() has success. Called on any
  // thread; must return soon and not call this object.
  using Missed = std::function<void(int error)>;

  // Transactions are sent from this port from now on. Called before the first of them.
  void opened(std::uint32_t port);
  // None is any more. Called before the port is free for others. The kernel has told of a transaction by the time it has taken
  // it, so nothing of ours is under way; where it cannot leave out ours, what has not been read yet counts as somebody else's.
  void closing(std::uint32_t port) noexcept;
  // Notifications come in there, but for ours. The wire is used until leave(). 0, or an errno: then it is not.
  int listen(netlink::Wire& wire, Missed missed);
  void leave(const netlink::Wire& wire) noexcept;
  // Tries what has failed before, if anything has.
  void listen_again(netlink::Wire& wire) noexcept;
  bool has_listener() const noexcept;
  // The kernel makes no notifications for us from now on, or does again. Who cannot listen again is told.
  void hear(bool on) noexcept;
  void missed() const;
  bool is(std::uint32_t port) const noexcept;

 private:
  struct Listener {
    netlink::Wire* wire = nullptr;
    Missed missed;
    int error = 0;  // why it hears nothing; 0: it does
  };
  void leave_out() noexcept;

  mutable std::mutex mutex_;
  std::vector<std::uint32_t> ports_;
  std::vector<Listener> listeners_;
};

}  // namespace sluice::nftables
