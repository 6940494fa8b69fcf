// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One look at the kernel through iptables-save: what is in our chains, and what else leads there.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/common/netfilter/ruleset.hpp"
#include "plugins/ipvs/rules/rule_plan.hpp"

namespace sluice::ipvs {

struct RuleLook {
  netfilter::Ruleset rules;  // with the text of those in built-in chains and in KUBE-IPVS-OUT-FILTER
  // Chains of ours that somebody else's rule leads to: these cannot be removed.
  std::set<std::pair<netfilter::Table, std::string>> held;
  bool served_by_iptables = false;  // nat KUBE-SERVICES leads to chains of mode iptables

  const netfilter::Chain* chain(netfilter::Table table, std::string_view name) const {
    return rules.chain(netfilter::table_name(table), name);
  }
};

enum class Texts { kFew, kAll };  // kAll: also those of all our chains
// Throws sdk::Failure when the tool fails or its output is cut off.
RuleLook look_at_rules(netfilter::KernelSession& session, Texts texts = Texts::kFew);

// With all texts. For a reader that decides nothing by it: what accept() of the session means stays as it is.
RuleLook read_rules(netfilter::KernelSession& session);

// Jumps mode iptables makes to a chain of ours and its, with the text nobody else uses (BEH 5.2, rows 7 to 9).
std::vector<RuleJump> jumps_of_iptables();

}  // namespace sluice::ipvs
