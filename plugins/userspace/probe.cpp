// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/probe.hpp"

#include <string>

#include "plugins/common/netfilter/probe.hpp"

namespace sluice::userspace {

using netfilter::Table;

void probe_kernel(netfilter::Kernel& kernel, abi::Family family) {
  const std::string target = family == abi::Family::kIpv6 ? "[fd00::1]:80" : "10.0.0.1:80";
  netfilter::probe_needs(kernel,
                         {{"NETFILTER_XT_MATCH_COMMENT", Table::kNat, "-m comment --comment probe"},
                          {"NETFILTER_XT_MATCH_ADDRTYPE", Table::kNat, "-m addrtype --dst-type LOCAL"},
                          {"NETFILTER_XT_MATCH_ADDRTYPE", Table::kFilter, "-m addrtype ! --src-type LOCAL"},
                          {"NETFILTER_XT_MATCH_PHYSDEV", Table::kNat, "-m physdev ! --physdev-is-in"},
                          {"NETFILTER_XT_MATCH_STATE", Table::kFilter, "-m state --state NEW -j ACCEPT"},
                          {"NETFILTER_XT_MATCH_CONNTRACK", Table::kFilter, "-m conntrack --ctstate NEW -j DROP"},
                          {"NETFILTER_XT_TARGET_REDIRECT", Table::kNat, "-p tcp -m tcp -j REDIRECT --to-ports 80"},
                          {"NETFILTER_XT_NAT", Table::kNat, "-p udp -m udp -j DNAT --to-destination " + target}});
}

}  // namespace sluice::userspace
