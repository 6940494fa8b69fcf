// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A bound socket that holds a port of the node and serves nobody. A TCP one does not
// listen, so a connection that was not led to the proxy is refused at once; a UDP one drops
// what it gets, so nothing piles up.
#pragma once

#include <cstdint>

#include "plugins/userspace/descriptor.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

struct ClaimedAddress {
  abi::Address address;  // all zero: every address of the node, as for node ports
  std::uint16_t port;
  abi::Protocol protocol;
  bool operator==(const ClaimedAddress& other) const noexcept;
  bool operator<(const ClaimedAddress& other) const noexcept;
};

// Whether two sockets cannot have both: one port and protocol at one address or, if one of the two is of every address,
// at any.
bool overlap(const ClaimedAddress& one, const ClaimedAddress& other) noexcept;

// 0 or an errno; EADDRINUSE: somebody has the port, this process perhaps.
int open_claim_socket(abi::Family family, const ClaimedAddress& what, Descriptor& socket);
// What it is bound to. REQUIRES: a socket of open_claim_socket(), or a duplicate
ClaimedAddress claimed_by(const Descriptor& socket);

}  // namespace sluice::userspace
