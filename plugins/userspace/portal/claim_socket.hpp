// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A bound socket that holds a port of the node and serves nobody. A TCP one does not
// listen, so a connection that was not led to the proxy is refused at once; a UDP one drops
// what it gets, so nothing piles up.
//
// All have the same mark, so that one backend finds those of another one in this process,
// of whichever build: a port that it holds is no program's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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

// 0 or an errno; EADDRINUSE: somebody has the port, this process perhaps.
int open_claim_socket(abi::Family family, const ClaimedAddress& what, Descriptor& socket);
// What it is bound to. REQUIRES: a socket of open_claim_socket(), or a duplicate
ClaimedAddress claimed_by(const Descriptor& socket);

// The claims of this process, whoever of it has them. One thread.
class ProcessClaims {
 public:
  explicit ProcessClaims(abi::Family family) : family_(family) {}

  // A duplicate of one that is in the way of `what`: at the same address or, where one of the two is of every address,
  // at any. None: it is somebody else who has the port.
  Descriptor find(const ClaimedAddress& what);
  // All descriptors are gone through the next time, and then only once until this is called.
  void look_again() noexcept { seen_.reset(); }

 private:
  struct Seen {
    ClaimedAddress what;
    int descriptor;
  };
  void look();
  bool is(int descriptor, const ClaimedAddress& what) const;

  abi::Family family_;
  std::optional<std::vector<Seen>> seen_;  // sorted
};

}  // namespace sluice::userspace
