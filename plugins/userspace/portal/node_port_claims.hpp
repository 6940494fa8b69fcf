// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Ports of this node that Services answer on are taken from everybody else: each is held
// by a bound socket, so that no program of the node can open it and wonder why nobody
// comes; and a port somebody has already is reported, not stolen (BEH 8.3).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

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

class NodePortClaims {
 public:
  explicit NodePortClaims(abi::Family family) : family_(family) {}

  // Empty when `owner` (printed name of a service port) holds it now; else a sentence that names who does: another
  // Service, or a program of this node (by name and process id where it can be told).
  std::string claim(const ClaimedAddress& what, const std::string& owner);
  // Throws std::logic_error when `owner` does not hold it.
  void release(const ClaimedAddress& what, const std::string& owner);
  std::size_t size() const noexcept { return held_.size(); }

 private:
  struct Held {
    std::string owner;
    Descriptor socket;
  };
  abi::Family family_;
  std::map<ClaimedAddress, Held> held_;
};

}  // namespace sluice::userspace
