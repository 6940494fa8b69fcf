// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/probe.hpp"

#include <string>
#include <vector>

#include "plugins/common/netfilter/probe.hpp"
#include "plugins/iptables/names.hpp"

namespace sluice::iptables {
namespace {

std::vector<netfilter::Need> needs(abi::Family family, bool random_fully) {
  const std::string target = family == abi::Family::kIpv6 ? "[fd00::1]:80" : "10.0.0.1:80";
  return {
      {"NETFILTER_XT_MATCH_COMMENT", Table::kNat, "-m comment --comment probe"},
      {"NETFILTER_XT_MATCH_CONNTRACK", Table::kFilter, "-m conntrack --ctstate NEW"},
      {"NETFILTER_XT_MATCH_ADDRTYPE", Table::kNat, "-m addrtype --dst-type LOCAL"},
      {"NETFILTER_XT_MATCH_MARK", Table::kNat, "-m mark --mark 0x4000/0x4000"},
      {"NETFILTER_XT_MATCH_STATISTIC", Table::kNat, "-m statistic --mode random --probability 0.5"},
      {"NETFILTER_XT_MATCH_RECENT", Table::kNat, "-m recent --name SLUICE-PROBE --rcheck --seconds 1 --reap"},
      {"NETFILTER_XT_MARK", Table::kNat, "-j MARK --xor-mark 0x4000"},
      {family == abi::Family::kIpv6 ? "IP6_NF_TARGET_REJECT" : "IP_NF_TARGET_REJECT", Table::kFilter, "-j REJECT"},
      {"NETFILTER_XT_TARGET_MASQUERADE", Table::kNat,
       std::string("-j MASQUERADE") + (random_fully ? " --random-fully" : "")},
      {"NETFILTER_XT_NAT", Table::kNat, "-m tcp -p tcp -j DNAT --to-destination " + target},
  };
}

}  // namespace

void probe_kernel(netfilter::Kernel& kernel, abi::Family family) {
  netfilter::probe_needs(kernel, needs(family, kernel.tools().has_random_fully()));
}

}  // namespace sluice::iptables
