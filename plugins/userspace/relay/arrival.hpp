// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How an accepted connection, or the datagram of a new client, arrived.
#pragma once

#include <sys/socket.h>

#include <string>

#include "plugins/userspace/relay/client_policy.hpp"
#include "plugins/userspace/relay/conntrack_entry.hpp"

namespace sluice::userspace {

// The address to which the client of an accepted socket has sent, before rules redirected it. False if the kernel does
// not know it.
bool original_destination(int accepted, int family, SocketAddress& out) noexcept;

// The index of the interface in the packet information of a received message; 0: there is none.
unsigned input_interface(const msghdr& message) noexcept;

// A connection of this socket.
class TcpArrival final : public Arrival {
 public:
  TcpArrival(int socket, int family) noexcept : socket_(socket), family_(family) {}
  std::optional<Destination> destination() const noexcept override;
  std::string interface() const override;

 private:
  const int socket_;
  const int family_;
};

// A datagram that a rule has redirected to `local`, through the interface with this index. The references outlive it.
class UdpArrival final : public Arrival {
 public:
  UdpArrival(Conntrack& conntrack, const SocketAddress& client, const SocketAddress& local, unsigned interface) noexcept
      : conntrack_(conntrack), client_(client), local_(local), interface_(interface) {}
  std::optional<Destination> destination() const noexcept override;
  std::string interface() const override;

 private:
  Conntrack& conntrack_;
  const SocketAddress& client_;
  const SocketAddress& local_;
  const unsigned interface_;
};

}  // namespace sluice::userspace
