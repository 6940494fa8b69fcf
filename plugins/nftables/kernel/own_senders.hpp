// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The sockets of this process that write to nf_tables, and those that listen to it: listeners must not receive
// notifications of our own writes. One object for both address families; all sockets are in one network namespace.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lib/mutex.hpp"
#include "lib/netlink/raw_socket.hpp"

namespace sluice::nftables {

// Any thread.
class OwnSenders {
 public:
  // Called when notifications may have been missed. `error` is 0, or the errno with which the kernel refuses
  // notifications until listen_again() succeeds. Any thread; must return soon and must not call this object.
  using Missed = std::function<void(int error)>;

  // Registers the port ID (nlmsg_pid) of a writer. Must be called before its first transaction.
  void opened(std::uint32_t port_id);
  // Unregisters it. Must be called before the port ID can be reused. The kernel has sent the notifications of a
  // transaction when it returns, so none are in flight; without a kernel filter, unread ones count as foreign
  // changes.
  void closing(std::uint32_t port_id) noexcept;
  // Starts notifications on `socket`, except for our own writes. The socket is used until leave(). Returns 0, or an
  // errno if it failed.
  int listen(lib::netlink::RawSocket& socket, Missed missed);
  void leave(const lib::netlink::RawSocket& socket) noexcept;
  // Retries if notifications were refused earlier.
  void listen_again(lib::netlink::RawSocket& socket) noexcept;
  bool has_listener() const noexcept;
  // Switches notifications of all listeners off or on. A listener that cannot be switched on again is called.
  void set_listening(bool on) noexcept;
  void missed() const;
  bool contains(std::uint32_t port_id) const noexcept;

 private:
  struct Listener {
    lib::netlink::RawSocket* socket = nullptr;
    Missed missed;
    int error = 0;  // why there are no notifications; 0: there are
  };
  void update_filters() noexcept SLUICE_REQUIRES(mutex_);

  mutable lib::Mutex mutex_;
  std::vector<std::uint32_t> port_ids_ SLUICE_GUARDED_BY(mutex_);
  std::vector<Listener> listeners_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::nftables
