// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/names.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "plugins/common/netfilter/relay_mark.hpp"

namespace sluice::cleanup {
namespace {

struct ModeName {
  Modes mode;
  std::string_view name;
};
constexpr std::array kModeNames = {ModeName{kIptables, "iptables"}, ModeName{kIpvs, "ipvs"},
                                   ModeName{kNftables, "nftables"}, ModeName{kUserspace, "userspace"}};

struct ChainName {
  std::string_view table;
  std::string_view chain;
  Modes makers;
};
// Old kubelets made nat KUBE-POSTROUTING and KUBE-MARK-MASQ too. They create them again periodically, and kube-proxy
// --cleanup removes them as well.
constexpr std::array kChains = {
    ChainName{"nat", "KUBE-SERVICES", kIptables | kIpvs},
    ChainName{"nat", "KUBE-POSTROUTING", kIptables | kIpvs},
    ChainName{"nat", "KUBE-MARK-MASQ", kIptables | kIpvs},
    ChainName{"nat", "KUBE-NODEPORTS", kIptables},
    ChainName{"nat", "KUBE-PROXY-CANARY", kIptables},
    ChainName{"nat", "KUBE-LOAD-BALANCER", kIpvs},
    ChainName{"nat", "KUBE-NODE-PORT", kIpvs},
    ChainName{"nat", "KUBE-IPVS-HANDOVER", kIpvs},
    ChainName{"nat", "KUBE-PORTALS-CONTAINER", kUserspace},
    ChainName{"nat", "KUBE-PORTALS-HOST", kUserspace},
    ChainName{"nat", "KUBE-NODEPORT-CONTAINER", kUserspace},
    ChainName{"nat", "KUBE-NODEPORT-HOST", kUserspace},
    ChainName{"filter", "KUBE-SERVICES", kIptables},
    ChainName{"filter", "KUBE-EXTERNAL-SERVICES", kIptables},
    ChainName{"filter", "KUBE-NODEPORTS", kIptables},
    ChainName{"filter", "KUBE-PROXY-CANARY", kIptables},
    ChainName{"filter", "KUBE-FORWARD", kIptables | kIpvs},
    ChainName{"filter", "KUBE-PROXY-FIREWALL", kIptables | kIpvs},
    ChainName{"filter", "KUBE-NODE-PORT", kIpvs},
    ChainName{"filter", "KUBE-SOURCE-RANGES-FIREWALL", kIpvs},
    ChainName{"filter", "KUBE-IPVS-FILTER", kIpvs},
    ChainName{"filter", "KUBE-IPVS-OUT-FILTER", kIpvs},
    ChainName{"filter", "KUBE-NODEPORT-NON-LOCAL", kUserspace},
    ChainName{"filter", "KUBE-PORTALS-FIREWALL", kUserspace},
    ChainName{"mangle", "KUBE-PROXY-CANARY", kIptables},
};

// Chains of one service port: prefix and 16 characters of base32. Before 1.25, XLB was used for EXT and SVL.
constexpr std::array<std::string_view, 6> kServicePrefixes = {"KUBE-SVC-", "KUBE-SVL-", "KUBE-EXT-",
                                                              "KUBE-SEP-", "KUBE-FW-",  "KUBE-XLB-"};
constexpr std::size_t kHashLength = 16;

bool is_base32(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '2' && c <= '7'); });
}

// Names without "KUBE-", or "KUBE-6-" for IPv6. Only Sluice makes NODE-PORT-IPS; the last two are of releases before
// 1.12.
constexpr std::array<std::string_view, 20> kSets = {"LOOP-BACK",
                                                    "CLUSTER-IP",
                                                    "EXTERNAL-IP",
                                                    "EXTERNAL-IP-LOCAL",
                                                    "LOAD-BALANCER",
                                                    "LOAD-BALANCER-FW",
                                                    "LOAD-BALANCER-LOCAL",
                                                    "LOAD-BALANCER-SOURCE-IP",
                                                    "LOAD-BALANCER-SOURCE-CIDR",
                                                    "NODE-PORT-TCP",
                                                    "NODE-PORT-LOCAL-TCP",
                                                    "NODE-PORT-UDP",
                                                    "NODE-PORT-LOCAL-UDP",
                                                    "NODE-PORT-SCTP-HASH",
                                                    "NODE-PORT-LOCAL-SCTP-HASH",
                                                    "HEALTH-CHECK-NODE-PORT",
                                                    "IPVS-IPS",
                                                    "NODE-PORT-IPS",
                                                    "NODE-PORT-SCTP",
                                                    "NODE-PORT-LOCAL-SCTP"};
constexpr std::size_t kSetNameLimit = 31;  // of ipset; longer names are truncated
// Suffix of the temporary set that Sluice swaps in; a killed daemon may leave it.
constexpr std::string_view kSpare = "-N";

constexpr std::array<std::string_view, 4> kKubeletChains = {"KUBE-FIREWALL", "KUBE-MARK-DROP", "KUBE-KUBELET-CANARY",
                                                            "KUBE-IPTABLES-HINT"};

struct JumpForm {
  std::string_view table;
  std::string_view from;
  std::string_view comment;
  std::string_view to;
  Modes makers;
};
constexpr std::string_view kPortals = "kubernetes service portals";
constexpr std::string_view kExternal = "kubernetes externally-visible service portals";
constexpr std::string_view kFirewall = "kubernetes load balancer firewall";
constexpr std::string_view kIpvsFirewall = "kube-proxy firewall rules";
constexpr std::string_view kIpvsFilter = "kubernetes ipvs access filter";
constexpr std::string_view kClusterIps = "handle ClusterIPs; NOTE: this must be before the NodePort rules";
constexpr std::string_view kPortalsFirewall = "drop what may not use a service portal";
constexpr std::string_view kNodePorts = "handle service NodePorts; NOTE: this must be the last rule in the chain";

constexpr std::array kJumps = {
    JumpForm{"filter", "INPUT", kExternal, "KUBE-EXTERNAL-SERVICES", kIptables},
    JumpForm{"filter", "FORWARD", kExternal, "KUBE-EXTERNAL-SERVICES", kIptables},
    JumpForm{"filter", "INPUT", "kubernetes health check service ports", "KUBE-NODEPORTS", kIptables},
    JumpForm{"filter", "INPUT", kPortals, "KUBE-SERVICES", kIptables},
    JumpForm{"filter", "FORWARD", kPortals, "KUBE-SERVICES", kIptables},
    JumpForm{"filter", "OUTPUT", kPortals, "KUBE-SERVICES", kIptables},
    JumpForm{"filter", "FORWARD", "kubernetes forwarding rules", "KUBE-FORWARD", kIptables | kIpvs},
    JumpForm{"filter", "FORWARD", "kubernetes forward rules", "KUBE-FORWARD", kIptables | kIpvs},
    JumpForm{"filter", "INPUT", kFirewall, "KUBE-PROXY-FIREWALL", kIptables},
    JumpForm{"filter", "OUTPUT", kFirewall, "KUBE-PROXY-FIREWALL", kIptables},
    JumpForm{"filter", "FORWARD", kFirewall, "KUBE-PROXY-FIREWALL", kIptables},
    JumpForm{"nat", "OUTPUT", kPortals, "KUBE-SERVICES", kIptables | kIpvs},
    JumpForm{"nat", "PREROUTING", kPortals, "KUBE-SERVICES", kIptables | kIpvs},
    JumpForm{"nat", "POSTROUTING", "kubernetes postrouting rules", "KUBE-POSTROUTING", kIptables | kIpvs},
    JumpForm{"nat", "POSTROUTING", "kubernetes ipvs handover rules", "KUBE-IPVS-HANDOVER", kIpvs},
    JumpForm{"filter", "INPUT", "kubernetes health check rules", "KUBE-NODE-PORT", kIpvs},
    JumpForm{"filter", "INPUT", kIpvsFirewall, "KUBE-PROXY-FIREWALL", kIpvs},
    JumpForm{"filter", "FORWARD", kIpvsFirewall, "KUBE-PROXY-FIREWALL", kIpvs},
    JumpForm{"filter", "INPUT", kIpvsFilter, "KUBE-IPVS-FILTER", kIpvs},
    JumpForm{"filter", "OUTPUT", kIpvsFilter, "KUBE-IPVS-OUT-FILTER", kIpvs},
    JumpForm{"nat", "PREROUTING", kClusterIps, "KUBE-PORTALS-CONTAINER", kUserspace},
    JumpForm{"nat", "OUTPUT", kClusterIps, "KUBE-PORTALS-HOST", kUserspace},
    JumpForm{"nat", "PREROUTING", kNodePorts, "KUBE-NODEPORT-CONTAINER", kUserspace},
    JumpForm{"nat", "OUTPUT", kNodePorts, "KUBE-NODEPORT-HOST", kUserspace},
    JumpForm{"filter", "INPUT", "Ensure that non-local NodePort traffic can flow", "KUBE-NODEPORT-NON-LOCAL",
             kUserspace},
    JumpForm{"filter", "INPUT", kPortalsFirewall, "KUBE-PORTALS-FIREWALL", kUserspace},
    JumpForm{"filter", "FORWARD", kPortalsFirewall, "KUBE-PORTALS-FIREWALL", kUserspace},
    JumpForm{"filter", "OUTPUT", kPortalsFirewall, "KUBE-PORTALS-FIREWALL", kUserspace},
};
// Releases differ in which jumps are for new connections only.
constexpr std::array<std::string_view, 3> kMatches = {"", "-m conntrack --ctstate NEW ",
                                                      "-m addrtype --dst-type LOCAL "};

}  // namespace

Modes mode_of(std::string_view backend) {
  for (const ModeName& mode : kModeNames) {
    if (mode.name == backend) return mode.mode;
  }
  return 0;
}

std::string mode_names(Modes modes) {
  std::string out;
  for (const ModeName& mode : kModeNames) {
    if ((modes & mode.mode) != 0) out.append(out.empty() ? "" : ", ").append(mode.name);
  }
  return out;
}

Modes makers_of_chain(std::string_view table, std::string_view chain) {
  for (const ChainName& known : kChains) {
    if (known.table == table && known.chain == chain) return known.makers;
  }
  if (table != "nat") return 0;
  for (const std::string_view prefix : kServicePrefixes) {
    if (chain.starts_with(prefix) && chain.size() == prefix.size() + kHashLength &&
        is_base32(chain.substr(prefix.size()))) {
      return kIptables;
    }
  }
  return 0;
}

Modes makers_of_set(std::string_view name) {
  for (const std::string_view prefix : {"KUBE-", "KUBE-6-"}) {
    for (const std::string_view set : kSets) {
      const std::string whole = std::string(prefix).append(set).substr(0, kSetNameLimit);
      if (name == whole || name == whole.substr(0, kSetNameLimit - kSpare.size()).append(kSpare)) return kIpvs;
    }
  }
  return 0;
}

std::vector<std::string> artifacts_of(Modes modes, base::Family family) {
  const bool v4 = family == base::Family::ipv4;
  std::vector<std::string> out;
  const auto add = [&](std::string_view kind, std::string_view place, std::string_view name) {
    out.push_back(std::string(kind).append("/").append(place).append(place.empty() ? "" : "/").append(name));
  };
  const std::string_view chains = v4 ? "iptables" : "ip6tables";
  for (const ChainName& known : kChains) {
    if ((known.makers & modes) != 0) add(chains, known.table, known.chain);
  }
  if ((modes & kIptables) != 0) {
    for (const std::string_view prefix : kServicePrefixes) add(chains, "nat", std::string(prefix) + "*");
  }
  if ((modes & kIpvs) != 0) {
    for (const std::string_view set : kSets) {
      add("ipset", {}, std::string(v4 ? "KUBE-" : "KUBE-6-").append(set).substr(0, kSetNameLimit));
    }
    add("link", {}, kIpvsLink);
    add("ipvs", {}, kVirtualServers);
  }
  if ((modes & kNftables) != 0) add("nft", v4 ? "ip" : "ip6", kNftTable);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool chosen_by_destination(std::string_view chain) {
  return chain == "KUBE-NODEPORT-CONTAINER" || chain == "KUBE-NODEPORT-HOST";
}

bool is_kubelet_chain(std::string_view chain) {
  return std::find(kKubeletChains.begin(), kKubeletChains.end(), chain) != kKubeletChains.end();
}

std::vector<KnownJump> known_jumps() {
  std::vector<KnownJump> out;
  for (const JumpForm& jump : kJumps) {
    const auto add = [&](std::string match) {
      match.append("-m comment --comment \"").append(jump.comment).append("\" -j ").append(jump.to);
      out.push_back({jump.table, jump.from, std::move(match), jump.to, jump.makers});
    };
    for (const std::string_view match : kMatches) {
      add(std::string(match));
      if (jump.makers != kUserspace || jump.from != "OUTPUT") continue;
      for (const std::uint32_t mark : netfilter::kRelayMarks) {
        add(std::string(match).append(netfilter::not_relayed_match(mark)).append(" "));
      }
    }
  }
  return out;
}

}  // namespace sluice::cleanup
