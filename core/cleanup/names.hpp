// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Names of the kernel objects that kube-proxy, in any mode and release, and the backends of this daemon create on a
// node. No I/O; any thread.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ip.hpp"

namespace sluice::cleanup {

// kube-proxy's modes as bits; several modes may make the same object.
using Modes = unsigned;
inline constexpr Modes kIptables = 1, kIpvs = 2, kNftables = 4, kUserspace = 8;
inline constexpr Modes kAllModes = kIptables | kIpvs | kNftables | kUserspace;

// The mode of the backend with this id; 0 for a backend that is not a mode of kube-proxy.
Modes mode_of(std::string_view backend);
// "ipvs, userspace".
std::string mode_names(Modes modes);

// The modes that make this iptables chain; 0 if none does.
Modes makers_of_chain(std::string_view table, std::string_view chain);
// The same for an ipset. IPv6 sets have names of their own.
Modes makers_of_set(std::string_view name);

// All objects that these modes make in a family, in the form of ownership claims: "ip6tables/nat/KUBE-SERVICES",
// "ipset/KUBE-CLUSTER-IP". Sorted, unique.
std::vector<std::string> artifacts_of(Modes modes, base::Family family);

// Chains that kubelet makes or shares: these stay, even if a backend claims them.
bool is_kubelet_chain(std::string_view chain);

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

inline constexpr std::string_view kIpvsLink = "kube-ipvs0";
inline constexpr std::string_view kNftTable = "kube-proxy";
// All virtual servers of ipvs mode; sets and addresses identify them.
inline constexpr std::string_view kVirtualServers = "virtual-servers";

}  // namespace sluice::cleanup
