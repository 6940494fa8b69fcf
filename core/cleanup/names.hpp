// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What kube-proxy, in any mode and release, and this daemon's backends call the things
// they make on a node. Pure decisions; any thread.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ip.hpp"

namespace sluice::cleanup {

// kube-proxy's modes as bits; several may make the same thing.
using Modes = unsigned;
inline constexpr Modes kIptables = 1, kIpvs = 2, kNftables = 4, kUserspace = 8;
inline constexpr Modes kAllModes = kIptables | kIpvs | kNftables | kUserspace;

// The mode a backend's id stands for; 0 for any other backend.
Modes mode_of(std::string_view backend);
// "ipvs, userspace".
std::string mode_names(Modes modes);

// The modes that make this iptables chain; 0: nobody's of ours.
Modes makers_of_chain(std::string_view table, std::string_view chain);
// The same for an ipset. IPv6 sets have names of their own.
Modes makers_of_set(std::string_view name);

// All that these modes make in a family, as a backend would claim it: "ip6tables/nat/KUBE-SERVICES",
// "ipset/KUBE-CLUSTER-IP". Sorted, each once.
std::vector<std::string> artifacts_of(Modes modes, base::Family family);

// Chains kubelet makes, or shares: these stay, whoever claims them.
bool is_kubelets(std::string_view chain);

// A rule by which kube-proxy leads packets from a built-in chain into one of its own.
struct KnownJump {
  std::string_view table;
  std::string_view from;
  std::string rule;  // what follows the name of the chain
  std::string_view to;
  Modes makers;
};
// Those of all modes, and the forms they had in older releases.
std::vector<KnownJump> known_jumps();
// Jumps to this chain name addresses besides: those of the node at which node ports are served, or not.
bool chosen_by_destination(std::string_view chain);

inline constexpr std::string_view kIpvsLink = "kube-ipvs0";
inline constexpr std::string_view kNftTable = "kube-proxy";
// All of mode ipvs together; which ones these are is told by sets and addresses.
inline constexpr std::string_view kVirtualServers = "virtual-servers";

}  // namespace sluice::cleanup
