// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sockets to endpoints whose packets leave the node with the address of a client. Before the socket connects, it gets a
// conntrack entry that translates its source, so that replies come back to the socket whatever their route is
// (decision 0047). Only on the thread of the loop.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "lib/fd.hpp"
#include "plugins/common/address_hash.hpp"
#include "plugins/userspace/balancer/balancer.hpp"
#include "plugins/userspace/relay/conntrack_entry.hpp"
#include "plugins/userspace/relay/foreign_nat.hpp"
#include "plugins/userspace/socket_address.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::userspace {

// Local ports that programs do not choose first: every other port of net.ipv4.ip_local_port_range. connect() of Linux
// begins with the others, and does not take a port that another socket has bound.
class SharedPorts {
 public:
  SharedPorts(std::uint16_t low, std::uint16_t high, std::uint32_t start) noexcept;
  // The range of this node.
  static SharedPorts of_node(std::uint32_t start) noexcept;
  std::uint16_t next() noexcept;

 private:
  std::uint16_t first_;
  std::uint32_t count_;
  std::uint32_t index_;
};

class ClientSockets {
 public:
  // What the packets of a new socket have as source.
  enum class Source : std::uint8_t {
    kClient,
    kNode,       // as in iptables mode: rules of another program masquerade them
    kNodeForNow  // the client's address could not be used; `error` says why
  };
  struct Opened {
    Source source = Source::kNodeForNow;
    int error = 0;  // of connect(), if the source is the client
    lib::Fd socket{};
    SocketAddress entry{};  // the local end if there is a conntrack entry, otherwise without family
  };
  struct Wanted {
    const SocketAddress& endpoint;
    std::uint32_t mark;
    const SocketAddress& client;
    bool client_is_here;    // its address is one of this node
    bool has_data = false;  // TCP: there is data to send once it is connected
    // TCP: an earlier dial of this client to the endpoint failed. It may still have that half-open connection, so this one gets
    // another port: the endpoint would answer for the old one, and the kernel here would reset it.
    bool again = false;
  };

  explicit ClientSockets(unsigned thread) noexcept;
  ClientSockets(const ClientSockets&) = delete;
  ClientSockets& operator=(const ClientSockets&) = delete;

  // A socket that is connected or connects. Otherwise there is no socket: dial with the address of the node.
  Opened connect_tcp(const Wanted& wanted, Nanoseconds now) noexcept;
  Opened connect_udp(const Wanted& wanted, Nanoseconds now) noexcept;

  // UDP: creates the entry again if it is gone. 0 or an errno.
  int renew_udp(const SocketAddress& entry, const SocketAddress& endpoint, const SocketAddress& client) noexcept;
  // Removes the entry of a socket whose dial failed, or of a UDP client that ends.
  void remove_entry(std::uint8_t protocol, const SocketAddress& entry, const SocketAddress& endpoint) noexcept;

  // Removes what a killed process left for the same port. Otherwise the endpoint sees a client of that process. Call after
  // connect() of a UDP socket with an address of the node, and before its first datagram.
  void remove_earlier_entry(const lib::Fd& socket, const SocketAddress& endpoint) noexcept;

  Conntrack& conntrack() noexcept { return conntrack_; }

 private:
  struct Route {
    SocketAddress source;
    Nanoseconds until = 0;
  };

  Opened connect_from_here(int type, const Wanted& wanted) noexcept;
  int source_towards(const SocketAddress& endpoint, std::uint32_t mark, Nanoseconds now, SocketAddress& out) noexcept;
  int create_entry(const RelayFlow& flow, const SocketAddress& client, bool same_port = true) noexcept;

  Conntrack conntrack_;
  ForeignNat foreign_nat_;
  SharedPorts ports_;
  std::unordered_map<abi::Address, Route> routes_;
};

}  // namespace sluice::userspace
