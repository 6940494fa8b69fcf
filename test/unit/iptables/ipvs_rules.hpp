// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Rules of ipvs mode, for tests of modes that share chains.
#pragma once

#include <string>
#include <vector>

namespace sluice::test {

// An input of iptables-restore --noflush that replaces the chains, with or without the jumps.
inline std::string ipvs_rules(bool jumps) {
  std::string text =
      "*filter\n"
      ":KUBE-FORWARD - [0:0]\n:KUBE-NODE-PORT - [0:0]\n:KUBE-PROXY-FIREWALL - [0:0]\n"
      ":KUBE-SOURCE-RANGES-FIREWALL - [0:0]\n:KUBE-IPVS-FILTER - [0:0]\n:KUBE-IPVS-OUT-FILTER - [0:0]\n"
      "-A KUBE-FORWARD -m comment --comment \"kubernetes forwarding rules\" -m mark --mark 0x00004000/0x00004000 -j ACCEPT\n"
      "-A KUBE-FORWARD -m comment --comment \"kubernetes forwarding conntrack rule\" -m conntrack --ctstate "
      "RELATED,ESTABLISHED -j ACCEPT\n"
      "-A KUBE-PROXY-FIREWALL -m set --match-set KUBE-LOAD-BALANCER-FW dst,dst -j KUBE-SOURCE-RANGES-FIREWALL\n"
      "-A KUBE-SOURCE-RANGES-FIREWALL -j DROP\n";
  const std::string filter_jumps =
      "-I INPUT -m comment --comment \"kube-proxy firewall rules\" -j KUBE-PROXY-FIREWALL\n"
      "-I FORWARD -m comment --comment \"kube-proxy firewall rules\" -j KUBE-PROXY-FIREWALL\n"
      "-I INPUT -m comment --comment \"kubernetes health check rules\" -j KUBE-NODE-PORT\n"
      "-I INPUT -m comment --comment \"kubernetes ipvs access filter\" -j KUBE-IPVS-FILTER\n"
      "-I OUTPUT -m comment --comment \"kubernetes ipvs access filter\" -j KUBE-IPVS-OUT-FILTER\n";
  if (jumps) {
    text += filter_jumps + "-I FORWARD -m comment --comment \"kubernetes forwarding rules\" -j KUBE-FORWARD\n";
  } else {
    text += filter_jumps;
  }
  text +=
      "COMMIT\n*nat\n"
      ":KUBE-SERVICES - [0:0]\n:KUBE-POSTROUTING - [0:0]\n:KUBE-MARK-MASQ - [0:0]\n:KUBE-NODE-PORT - [0:0]\n"
      ":KUBE-LOAD-BALANCER - [0:0]\n"
      "-A KUBE-MARK-MASQ -j MARK --or-mark 0x00004000\n"
      "-A KUBE-SERVICES -s 127.0.0.0/8 -j RETURN\n"
      "-A KUBE-SERVICES -m set --match-set KUBE-LOAD-BALANCER dst,dst -j KUBE-LOAD-BALANCER\n"
      "-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODE-PORT\n"
      "-A KUBE-LOAD-BALANCER -j KUBE-MARK-MASQ\n"
      "-A KUBE-POSTROUTING -m set --match-set KUBE-LOOP-BACK dst,dst,src -j MASQUERADE\n"
      "-A KUBE-POSTROUTING -m mark ! --mark 0x00004000/0x00004000 -j RETURN\n"
      "-A KUBE-POSTROUTING -j MARK --xor-mark 0x00004000\n"
      "-A KUBE-POSTROUTING -m comment --comment \"kubernetes service traffic requiring SNAT\" -j MASQUERADE --random-fully\n";
  if (jumps) {
    text +=
        "-I OUTPUT -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n"
        "-I PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n"
        "-I POSTROUTING -m comment --comment \"kubernetes postrouting rules\" -j KUBE-POSTROUTING\n";
  }
  return text + "COMMIT\n";
}

inline std::vector<std::string> ipvs_claims() {
  return {"ipvs/kube-ipvs0",
          "link/kube-ipvs0",
          "ipset/KUBE-CLUSTER-IP",
          "iptables/nat/KUBE-SERVICES",
          "iptables/nat/KUBE-POSTROUTING",
          "iptables/nat/KUBE-NODE-PORT",
          "iptables/nat/KUBE-LOAD-BALANCER",
          "iptables/nat/KUBE-MARK-MASQ",
          "iptables/filter/KUBE-FORWARD",
          "iptables/filter/KUBE-NODE-PORT",
          "iptables/filter/KUBE-PROXY-FIREWALL",
          "iptables/filter/KUBE-SOURCE-RANGES-FIREWALL",
          "iptables/filter/KUBE-IPVS-FILTER",
          "iptables/filter/KUBE-IPVS-OUT-FILTER"};
}

}  // namespace sluice::test
