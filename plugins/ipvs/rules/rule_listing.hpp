// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The output of iptables-save: the rules in our chains, and the foreign rules that lead there.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/common/netfilter/ruleset.hpp"
#include "plugins/ipvs/rules/rule_plan.hpp"

namespace sluice::ipvs {

struct RuleListing {
  netfilter::Ruleset rules;  // with texts for built-in chains and KUBE-IPVS-OUT-FILTER
  // Our chains that a foreign rule jumps to: they cannot be removed.
  std::set<std::pair<netfilter::Table, std::string>> referenced;
  bool served_by_iptables = false;  // nat KUBE-SERVICES leads to chains of iptables mode

  const netfilter::Chain* chain(netfilter::Table table, std::string_view name) const {
    return rules.chain(netfilter::table_name(table), name);
  }
};

enum class Texts { kFew, kAll };  // kAll: also those of all our chains
// Throws sdk::Failure when the tool fails or its output is cut off.
RuleListing list_rules(netfilter::KernelSession& session, Texts texts = Texts::kFew);

// With all texts. Does not affect accept() of the session.
RuleListing read_rules(netfilter::KernelSession& session);

// Jumps that kube-proxy in iptables mode makes to chains of the same name as ours, with unique texts (BEH 5.2, rows 7
// to 9).
std::vector<RuleJump> jumps_of_iptables();

}  // namespace sluice::ipvs
