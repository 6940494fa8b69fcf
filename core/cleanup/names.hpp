// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What clean-up derives from the names of kernel objects that kube-proxy, in any mode and release, and the backends of
// this daemon create on a node. The names are in names/. No I/O; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/ip.hpp"
#include "names/chains.hpp"
#include "names/modes.hpp"
#include "names/sets.hpp"

namespace sluice::cleanup {

using names::kAllModes;
using names::makers_of_chain;
using names::makers_of_set;
using names::mode_of;
using names::Modes;

// "ipvs, userspace".
std::string mode_names(Modes modes);

// All objects that these modes make in a family, in the form of ownership claims: "ip6tables/nat/KUBE-SERVICES",
// "ipset/KUBE-CLUSTER-IP". Sorted, unique.
std::vector<std::string> artifacts_of(Modes modes, lib::Family family);

// A jump of kube-proxy from a built-in chain to one of its own.
struct KnownJump {
  std::string_view table;
  std::string_view from;
  std::string rule;  // without the name of the chain
  std::string_view to;
  Modes makers;
};
// The jumps of all modes and of older releases.
std::vector<KnownJump> known_jumps();
// Whether jumps to this chain also match node addresses, those that serve node ports or those that do not.
bool chosen_by_destination(std::string_view chain);

}  // namespace sluice::cleanup
