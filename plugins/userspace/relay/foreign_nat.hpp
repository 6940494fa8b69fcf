// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Whether rules of another program masquerade packets of a client to an endpoint, such as the rules of a CNI plugin for
// packets that leave the cluster. In iptables mode such rules apply to Services, too. A conntrack entry of the relay
// would bypass them, and the endpoint could not reply. Only on the thread of the loop.
//
// The kernel is the only one that can evaluate the rules, so it receives a packet: a SYN or an empty datagram with a
// wrong checksum, which the endpoint ignores. The entry that the packet leaves behind has the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "lib/fd.hpp"
#include "plugins/userspace/balancer/balancer.hpp"
#include "plugins/userspace/relay/conntrack_entry.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::userspace {

// Sends the first packet of `flow`, whose source need not be an address of this node. 0 or an errno.
[[nodiscard]] int send_invalid_packet(int raw_socket, const RelayFlow& flow) noexcept;
// For packets with any source. 0 or an errno; needs CAP_NET_RAW.
[[nodiscard]] int open_raw_packet_socket(int family, std::uint32_t mark, lib::Fd& out) noexcept;

class ForeignNat {
 public:
  // False if it cannot be found out.
  bool masquerades(const RelayFlow& flow, std::uint32_t mark, Conntrack& conntrack, Nanoseconds now) noexcept;

 private:
  struct Pair {
    abi::Address client;
    abi::Address endpoint;
    std::uint8_t protocol;
    bool operator==(const Pair&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Pair& pair) const noexcept;
  };
  struct Known {
    bool masquerades;
    Nanoseconds until;
  };

  bool find_out(const RelayFlow& flow, std::uint32_t mark, Conntrack& conntrack) noexcept;

  std::unordered_map<Pair, Known, Hash> known_;
  lib::Fd ipv4_;
  lib::Fd ipv6_;
};

}  // namespace sluice::userspace
