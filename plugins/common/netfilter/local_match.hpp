// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Matches for traffic from pods of this node (BEH 5.7). Pure.
#pragma once

#include <string>

#include "sluice/abi/node.hpp"

namespace sluice::netfilter {

struct LocalMatch {
  std::string is_local;   // empty: there is no such match, and rules that need it are not written
  std::string not_local;  // empty also where every packet is local
  bool works() const noexcept { return !is_local.empty(); }
  bool operator==(const LocalMatch&) const = default;
};
// Throws sdk::Failure (kInvalid) for an invalid interface name.
LocalMatch local_match(abi::Family family, const abi::NodeFacts& node);

}  // namespace sluice::netfilter
