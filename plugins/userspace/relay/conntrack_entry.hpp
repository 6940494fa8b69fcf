// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Conntrack entries that the relay creates for its connections to endpoints, and the requests for them (ctnetlink).
// One thread at a time. No exceptions: a lack of memory is ENOMEM.
#pragma once

#include <cstdint>

#include "lib/netlink/message.hpp"
#include "lib/netlink/socket.hpp"
#include "plugins/userspace/socket_address.hpp"

namespace sluice::userspace {

// The packets of a socket to an endpoint. Both addresses have the same family.
struct RelayFlow {
  std::uint8_t protocol = 0;  // IPPROTO_TCP or IPPROTO_UDP
  SocketAddress source;
  SocketAddress destination;
};

// The source that other hosts see: an address and a range of ports, from which the kernel chooses an unused one.
struct ShownSource {
  SocketAddress address;  // its port is not used
  std::uint16_t low = 0;
  std::uint16_t high = 0;
};

// The ports among which the kernel chooses when it masquerades `port`: programs trust ports below 1024.
ShownSource any_port_like(const SocketAddress& client);

// An entry of the kernel.
struct ConntrackEntry {
  SocketAddress source;
  SocketAddress destination;
  SocketAddress reply_source;
  SocketAddress reply_destination;
  std::uint8_t tcp_state = 0;
  bool tcp_ended() const noexcept;  // both ends have closed, or one has reset
};

namespace conntrack_message {
// The entry does not expect a valid sequence number: packets that conntrack calls invalid would lose their translation.
lib::netlink::Message create(const RelayFlow& flow, const ShownSource& shown_as, std::uint32_t seconds);
lib::netlink::Message remove(const RelayFlow& flow);
lib::netlink::Message find(const RelayFlow& flow);           // whose first packet went this way
lib::netlink::Message find_by_reply(const RelayFlow& flow);  // whose replies go this way
// False if the message is no entry.
bool read(nlmsghdr* message, ConntrackEntry& out) noexcept;
}  // namespace conntrack_message

class Conntrack {
 public:
  Conntrack();
  explicit Conntrack(lib::netlink::OpenRawSocket open);

  // All return 0 or an errno. EEXIST: there is an entry with this flow, or with the same source as others see it.
  // `seconds`: until the entry ends, if no packet passes.
  [[nodiscard]] int create(const RelayFlow& flow, const ShownSource& shown_as, std::uint32_t seconds) noexcept;
  int remove(const RelayFlow& flow) noexcept;
  [[nodiscard]] int find(const RelayFlow& flow, ConntrackEntry& out) noexcept;
  [[nodiscard]] int find_by_reply(const RelayFlow& flow, ConntrackEntry& out) noexcept;

 private:
  template <class Make>
  int request(Make make, ConntrackEntry* out = nullptr) noexcept;

  lib::netlink::Socket socket_;
};

}  // namespace sluice::userspace
