// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Jumps from built-in chains of iptables to those in chains.hpp.
#pragma once

#include <array>
#include <string_view>

#include "names/chains.hpp"

namespace sluice::names {

inline constexpr std::string_view kNewConnections = "-m conntrack --ctstate NEW";
inline constexpr std::string_view kToThisNode = "-m addrtype --dst-type LOCAL";

struct Jump {
  Table table;
  std::string_view from;
  std::string_view match;  // of the backend; kube-proxy's releases differ in it
  std::string_view comment;
  std::string_view to;
  Modes modes;
  Writer writer;
  unsigned more_matches = 0;  // the matches below that the jump has, too
};
// Node addresses that serve node ports, or those that do not.
inline constexpr unsigned kAtNodeAddresses = 1;
// Packets of the relay are excluded.
inline constexpr unsigned kNotRelayed = 2;

namespace comments {
inline constexpr std::string_view kExternal = "kubernetes externally-visible service portals";
inline constexpr std::string_view kPortals = "kubernetes service portals";
inline constexpr std::string_view kFirewall = "kubernetes load balancer firewall";
inline constexpr std::string_view kIpvsFirewall = "kube-proxy firewall rules";
inline constexpr std::string_view kIpvsFilter = "kubernetes ipvs access filter";
inline constexpr std::string_view kClusterIps = "handle ClusterIPs; NOTE: this must be before the NodePort rules";
inline constexpr std::string_view kPortalsFirewall = "drop what may not use a service portal";
inline constexpr std::string_view kNodePorts =
    "handle service NodePorts; NOTE: this must be the last rule in the chain";
}  // namespace comments

// The rows of a mode are in the order in which its backend inserts the jumps at the top of their chains.
inline constexpr std::array kJumps = {
    Jump{Table::kFilter, "INPUT", kNewConnections, comments::kExternal, kExternalServices, kIptables, Writer::kBoth},
    Jump{Table::kFilter, "FORWARD", kNewConnections, comments::kExternal, kExternalServices, kIptables, Writer::kBoth},
    Jump{Table::kFilter, "INPUT", "", "kubernetes health check service ports", kNodePorts, kIptables, Writer::kBoth},
    Jump{Table::kFilter, "INPUT", kNewConnections, comments::kPortals, kServices, kIptables, Writer::kKubeProxy},
    Jump{Table::kFilter, "FORWARD", kNewConnections, comments::kPortals, kServices, kIptables, Writer::kBoth},
    Jump{Table::kFilter, "OUTPUT", kNewConnections, comments::kPortals, kServices, kIptables, Writer::kBoth},
    Jump{Table::kFilter, "FORWARD", "", "kubernetes forwarding rules", kForward, kIptables | kIpvs, Writer::kBoth},
    Jump{Table::kFilter, "FORWARD", "", "kubernetes forward rules", kForward, kIptables | kIpvs, Writer::kKubeProxy},
    Jump{Table::kFilter, "INPUT", kNewConnections, comments::kFirewall, kProxyFirewall, kIptables, Writer::kBoth},
    Jump{Table::kFilter, "OUTPUT", kNewConnections, comments::kFirewall, kProxyFirewall, kIptables, Writer::kBoth},
    Jump{Table::kFilter, "FORWARD", kNewConnections, comments::kFirewall, kProxyFirewall, kIptables, Writer::kBoth},
    Jump{Table::kNat, "OUTPUT", "", comments::kPortals, kServices, kIptables | kIpvs, Writer::kBoth},
    Jump{Table::kNat, "PREROUTING", "", comments::kPortals, kServices, kIptables | kIpvs, Writer::kBoth},
    Jump{Table::kNat, "POSTROUTING", "", "kubernetes ipvs handover rules", kHandover, kIpvs, Writer::kBackend},
    Jump{Table::kNat, "POSTROUTING", "", "kubernetes postrouting rules", kPostrouting, kIptables | kIpvs,
         Writer::kBoth},
    Jump{Table::kFilter, "INPUT", "", "kubernetes health check rules", kNodePort, kIpvs, Writer::kBoth},
    Jump{Table::kFilter, "INPUT", "", comments::kIpvsFirewall, kProxyFirewall, kIpvs, Writer::kBoth},
    Jump{Table::kFilter, "FORWARD", "", comments::kIpvsFirewall, kProxyFirewall, kIpvs, Writer::kBoth},
    Jump{Table::kFilter, "INPUT", "", comments::kIpvsFilter, kIpvsFilter, kIpvs, Writer::kBoth},
    Jump{Table::kFilter, "OUTPUT", "", comments::kIpvsFilter, kIpvsOutFilter, kIpvs, Writer::kBoth},
    Jump{Table::kNat, "PREROUTING", "", comments::kClusterIps, kPortalsContainer, kUserspace, Writer::kBoth},
    Jump{Table::kNat, "OUTPUT", "", comments::kClusterIps, kPortalsHost, kUserspace, Writer::kBoth, kNotRelayed},
    Jump{Table::kFilter, "INPUT", "", "Ensure that non-local NodePort traffic can flow", kNodePortNonLocal, kUserspace,
         Writer::kBoth},
    Jump{Table::kFilter, "INPUT", kNewConnections, comments::kPortalsFirewall, kPortalsFirewall, kUserspace,
         Writer::kBackend},
    Jump{Table::kFilter, "FORWARD", kNewConnections, comments::kPortalsFirewall, kPortalsFirewall, kUserspace,
         Writer::kBackend},
    Jump{Table::kFilter, "OUTPUT", kNewConnections, comments::kPortalsFirewall, kPortalsFirewall, kUserspace,
         Writer::kBackend, kNotRelayed},
    Jump{Table::kNat, "PREROUTING", kToThisNode, comments::kNodePorts, kNodePortContainer, kUserspace, Writer::kBoth,
         kAtNodeAddresses},
    Jump{Table::kNat, "OUTPUT", kToThisNode, comments::kNodePorts, kNodePortHost, kUserspace, Writer::kBoth,
         kAtNodeAddresses | kNotRelayed},
};

}  // namespace sluice::names
