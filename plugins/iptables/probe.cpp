// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/probe.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/restore_program.hpp"
#include "plugins/iptables/names.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::iptables {
namespace {

struct Need {
  std::string_view option;  // of the kernel configuration
  Table table;
  std::string rule;
};

std::vector<Need> needs(abi::Family family, bool random_fully) {
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

constexpr std::string_view kChain = "SLUICE-PROBE";

// Makes a chain, fills it, empties it and removes it again, in one go: the kernel
// judges the rules and keeps nothing.
std::string input_for(const std::vector<Need>& tried) {
  std::string text;
  for (const Table table : {Table::kFilter, Table::kNat}) {
    std::string rules;
    for (const Need& need : tried) {
      if (need.table == table) rules.append("-A ").append(kChain).append(" ").append(need.rule).append("\n");
    }
    if (rules.empty()) continue;
    text.append("*").append(netfilter::table_name(table)).append("\n:").append(kChain).append(" - [0:0]\n");
    text.append(rules).append("-F ").append(kChain).append("\n-X ").append(kChain).append("\nCOMMIT\n");
  }
  return text;
}

}  // namespace

void probe_kernel(Kernel& kernel, abi::Family family) {
  const std::vector<Need> all = needs(family, kernel.tools().has_random_fully());
  const process::Outcome outcome = kernel.try_restore(input_for(all));
  if (outcome.ok()) return;
  std::string missing;
  for (const Need& need : all) {
    if (kernel.try_restore(input_for({need})).ok()) continue;
    missing.append(missing.empty() ? "" : ", ").append(need.option);
  }
  // All of them at once is a matter of privilege or of the tool, which says so itself.
  if (missing.empty() || outcome.complaint.find("you must be root") != std::string::npos) {
    throw failure_of(kernel.tools().restore, outcome);
  }
  throw sdk::Failure(abi::Code::kUnsupported, "kernel",
                     "the kernel refuses rules that need " + missing + ": enable or load these options (" +
                         netfilter::explain(kernel.tools().restore, outcome) + ")");
}

}  // namespace sluice::iptables
