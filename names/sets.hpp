// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sets of ipset. No I/O; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "names/modes.hpp"

namespace sluice::names {

enum class SetType : std::uint8_t { kIpPortIp, kIpPort, kIpPortNet, kPorts, kIp };

// What the entries say about virtual servers.
enum class SetRole : std::uint8_t {
  kNone,
  kFrontends,    // addresses and ports of virtual servers
  kServerPorts,  // ports of virtual servers at addresses of the node
  kNodeAddresses,
};

// In the order of BEH 6.7.
enum class SetId : std::uint8_t {
  kLoopBack,
  kClusterIp,
  kExternalIp,
  kExternalIpLocal,
  kLoadBalancer,
  kLoadBalancerFirewall,
  kLoadBalancerLocal,
  kLoadBalancerSourceIp,
  kLoadBalancerSourceCidr,
  kNodePortTcp,
  kNodePortLocalTcp,
  kNodePortUdp,
  kNodePortLocalUdp,
  kNodePortSctp,
  kNodePortLocalSctp,
  kHealthCheckNodePort,
  kIpvsAddresses,
  kNodePortAddresses,  // identifies virtual servers after the node lost an address; no rule uses it
  kOldNodePortSctp,    // before 1.12
  kOldNodePortLocalSctp,
};

struct Set {
  SetId id;
  std::string_view name;  // for IPv4; see set_name()
  SetType type;
  SetRole role;
  std::uint8_t protocol;  // IPPROTO_… of node ports; otherwise 0
  Modes modes;
  Writer writer;
};
inline constexpr std::uint8_t kTcp = 6, kUdp = 17, kSctp = 132;
// Indexed by SetId.
inline constexpr std::array kSets = {
    Set{SetId::kLoopBack, "KUBE-LOOP-BACK", SetType::kIpPortIp, SetRole::kNone, 0, kIpvs, Writer::kBoth},
    Set{SetId::kClusterIp, "KUBE-CLUSTER-IP", SetType::kIpPort, SetRole::kFrontends, 0, kIpvs, Writer::kBoth},
    Set{SetId::kExternalIp, "KUBE-EXTERNAL-IP", SetType::kIpPort, SetRole::kFrontends, 0, kIpvs, Writer::kBoth},
    Set{SetId::kExternalIpLocal, "KUBE-EXTERNAL-IP-LOCAL", SetType::kIpPort, SetRole::kFrontends, 0, kIpvs,
        Writer::kBoth},
    Set{SetId::kLoadBalancer, "KUBE-LOAD-BALANCER", SetType::kIpPort, SetRole::kFrontends, 0, kIpvs, Writer::kBoth},
    Set{SetId::kLoadBalancerFirewall, "KUBE-LOAD-BALANCER-FW", SetType::kIpPort, SetRole::kNone, 0, kIpvs,
        Writer::kBoth},
    Set{SetId::kLoadBalancerLocal, "KUBE-LOAD-BALANCER-LOCAL", SetType::kIpPort, SetRole::kNone, 0, kIpvs,
        Writer::kBoth},
    Set{SetId::kLoadBalancerSourceIp, "KUBE-LOAD-BALANCER-SOURCE-IP", SetType::kIpPortIp, SetRole::kNone, 0, kIpvs,
        Writer::kBoth},
    Set{SetId::kLoadBalancerSourceCidr, "KUBE-LOAD-BALANCER-SOURCE-CIDR", SetType::kIpPortNet, SetRole::kNone, 0, kIpvs,
        Writer::kBoth},
    Set{SetId::kNodePortTcp, "KUBE-NODE-PORT-TCP", SetType::kPorts, SetRole::kServerPorts, kTcp, kIpvs, Writer::kBoth},
    Set{SetId::kNodePortLocalTcp, "KUBE-NODE-PORT-LOCAL-TCP", SetType::kPorts, SetRole::kServerPorts, kTcp, kIpvs,
        Writer::kBoth},
    Set{SetId::kNodePortUdp, "KUBE-NODE-PORT-UDP", SetType::kPorts, SetRole::kServerPorts, kUdp, kIpvs, Writer::kBoth},
    Set{SetId::kNodePortLocalUdp, "KUBE-NODE-PORT-LOCAL-UDP", SetType::kPorts, SetRole::kServerPorts, kUdp, kIpvs,
        Writer::kBoth},
    Set{SetId::kNodePortSctp, "KUBE-NODE-PORT-SCTP-HASH", SetType::kIpPort, SetRole::kServerPorts, kSctp, kIpvs,
        Writer::kBoth},
    Set{SetId::kNodePortLocalSctp, "KUBE-NODE-PORT-LOCAL-SCTP-HASH", SetType::kIpPort, SetRole::kServerPorts, kSctp,
        kIpvs, Writer::kBoth},
    Set{SetId::kHealthCheckNodePort, "KUBE-HEALTH-CHECK-NODE-PORT", SetType::kPorts, SetRole::kNone, 0, kIpvs,
        Writer::kBoth},
    Set{SetId::kIpvsAddresses, "KUBE-IPVS-IPS", SetType::kIp, SetRole::kNone, 0, kIpvs, Writer::kBoth},
    Set{SetId::kNodePortAddresses, "KUBE-NODE-PORT-IPS", SetType::kIp, SetRole::kNodeAddresses, 0, kIpvs,
        Writer::kBackend},
    Set{SetId::kOldNodePortSctp, "KUBE-NODE-PORT-SCTP", SetType::kPorts, SetRole::kServerPorts, kSctp, kIpvs,
        Writer::kKubeProxy},
    Set{SetId::kOldNodePortLocalSctp, "KUBE-NODE-PORT-LOCAL-SCTP", SetType::kPorts, SetRole::kServerPorts, kSctp, kIpvs,
        Writer::kKubeProxy},
};
static_assert([] {
  for (std::size_t i = 0; i < kSets.size(); ++i) {
    if (kSets[i].id != static_cast<SetId>(i)) return false;
  }
  return true;
}());

// The kernel rejects longer names: IPSET_MAXNAMELEN includes the NUL.
inline constexpr std::size_t kSetNameLimit = 31;
inline constexpr std::string_view kIpv4SetPrefix = "KUBE-";
inline constexpr std::string_view kIpv6SetPrefix = "KUBE-6-";
// Suffix of the temporary set that a backend swaps in; a killed daemon may leave it.
inline constexpr std::string_view kTemporarySuffix = "-N";

// "KUBE-CLUSTER-IP"; IPv6: "KUBE-6-CLUSTER-IP", cut to the limit.
inline std::string set_name(const Set& set, bool ipv6) {
  std::string name(ipv6 ? kIpv6SetPrefix : kIpv4SetPrefix);
  return name.append(set.name.substr(kIpv4SetPrefix.size())).substr(0, kSetNameLimit);
}

// Name of the temporary set; differs from all other names.
inline std::string temporary_set_name(const Set& set, bool ipv6) {
  return set_name(set, ipv6).substr(0, kSetNameLimit - kTemporarySuffix.size()).append(kTemporarySuffix);
}

struct KnownSet {
  const Set* set = nullptr;  // null: not one of these sets
  bool ipv6 = false;
};
// The set with this name, which may be the temporary one.
constexpr KnownSet find_set(std::string_view name) noexcept {
  const auto is = [](std::string_view text, std::string_view prefix, std::string_view rest, std::size_t limit) {
    return text.size() == std::min(prefix.size() + rest.size(), limit) && text.starts_with(prefix) &&
           rest.starts_with(text.substr(prefix.size()));
  };
  std::string_view shorter = name;
  const bool suffixed = name.ends_with(kTemporarySuffix);
  if (suffixed) shorter.remove_suffix(kTemporarySuffix.size());
  for (const Set& set : kSets) {
    const std::string_view rest = set.name.substr(kIpv4SetPrefix.size());
    for (const bool ipv6 : {false, true}) {
      const std::string_view prefix = ipv6 ? kIpv6SetPrefix : kIpv4SetPrefix;
      if (is(name, prefix, rest, kSetNameLimit)) return {&set, ipv6};
      if (suffixed && is(shorter, prefix, rest, kSetNameLimit - kTemporarySuffix.size())) return {&set, ipv6};
    }
  }
  return {};
}

// The modes that make this set; 0 if none does.
constexpr Modes makers_of_set(std::string_view name) noexcept {
  const Set* const set = find_set(name).set;
  return set == nullptr ? 0 : set->modes;
}

}  // namespace sluice::names
