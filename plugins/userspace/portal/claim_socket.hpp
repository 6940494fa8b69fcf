// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A bound socket that reserves a port of the node and serves no client. A TCP socket does not
// listen, so the kernel refuses connections that no rule redirects; a UDP socket drops all
// datagrams, so that none queue up.
#pragma once

#include <cstdint>

#include "lib/fd.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

struct ClaimedAddress {
  abi::Address address;  // all zero: every address of the node
  std::uint16_t port;
  abi::Protocol protocol;
  bool operator==(const ClaimedAddress& other) const noexcept;
  bool operator<(const ClaimedAddress& other) const noexcept;
};

// Whether two sockets cannot be bound to both: port and protocol are equal, and the addresses are equal or one of them
// is every address.
bool overlap(const ClaimedAddress& one, const ClaimedAddress& other) noexcept;

// 0 or an errno; EADDRINUSE: another socket has the port, possibly of this process.
int open_claim_socket(abi::Family family, const ClaimedAddress& claimed, lib::Fd& socket);
// The address the socket is bound to. REQUIRES: a socket of open_claim_socket(), or a duplicate
ClaimedAddress claimed_by(const lib::Fd& socket);

}  // namespace sluice::userspace
