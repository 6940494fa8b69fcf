// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The rules of the kernel compared with all that this backend may write: which are missing, and which are not ours.
// Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/ipvs/rules/rule_look.hpp"
#include "plugins/ipvs/rules/rule_plan.hpp"

namespace sluice::ipvs {

class SeenRules {
 public:
  // `wanted_closed`: whose rules in KUBE-IPVS-OUT-FILTER are not foreign.
  SeenRules(const RuleLook& look, const RuleFacts& facts, const std::set<ServerKey>& wanted_closed);

  // Chains that lack a rule for this set, which has entries.
  std::set<std::string> chains_without(netfilter::Table table, SetId set) const;
  // The chain lacks a rule that is for no set.
  bool lacks_rule(netfilter::Table table, std::string_view chain) const;
  bool lacks_jump(netfilter::Table table, std::string_view from, std::string_view to) const;
  // Packets to addresses of KUBE-IPVS-IPS are rejected unless a set lets them pass.
  bool rejects_unknown() const noexcept { return rejects_; }
  // KUBE-IPVS-OUT-FILTER drops what processes of the node send there.
  bool closes(const ServerKey& key) const { return closed_.contains(key); }

  // "nat -A KUBE-SERVICES …": rules in our chains that this backend does not write.
  const std::vector<std::string>& foreign() const noexcept { return foreign_; }

 private:
  struct Missing {
    netfilter::Table table;
    std::string chain;
    std::string rule;
  };
  void compare_chain(const RuleLook& look, const RuleChain& chain);
  void read_out_filter(const RuleLook& look, const std::set<ServerKey>& wanted);

  abi::Family family_;
  std::vector<Missing> missing_;
  std::vector<Missing> missing_jumps_;  // `chain`: the built-in one
  bool rejects_ = true;
  std::set<ServerKey> closed_;
  std::vector<std::string> foreign_;
};

}  // namespace sluice::ipvs
