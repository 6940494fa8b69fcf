// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Compares the rules of the kernel with all that this backend may write: missing and foreign rules. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/ipvs/rules/rule_listing.hpp"
#include "plugins/ipvs/rules/rule_plan.hpp"

namespace sluice::ipvs {

class RuleComparison {
 public:
  struct Missing {
    netfilter::Table table;
    std::string chain;
    std::string rule;
  };

  // `wanted_closed`: their rules in KUBE-IPVS-OUT-FILTER are not foreign.
  RuleComparison(const RuleListing& listing, const RuleFacts& facts, const std::set<ServerKey>& wanted_closed);

  // Chains that lack a rule for this set, which has entries.
  std::set<std::string> chains_without(netfilter::Table table, SetId set) const;
  // The chain lacks a rule that uses no set.
  bool lacks_rule(netfilter::Table table, std::string_view chain) const;
  bool lacks_jump(netfilter::Table table, std::string_view from, std::string_view to) const;
  // KUBE-IPVS-FILTER rejects packets to addresses of KUBE-IPVS-IPS unless a set accepts them.
  bool rejects_unknown() const noexcept { return rejects_; }
  // KUBE-IPVS-OUT-FILTER drops packets of this node's processes to `key`.
  bool closes(const ServerKey& key) const { return closed_.contains(key); }

  // "nat -A KUBE-SERVICES …": rules in our chains that this backend does not write.
  const std::vector<std::string>& foreign() const noexcept { return foreign_; }

  // Also rules of empty sets.
  const std::vector<Missing>& missing() const noexcept { return missing_; }
  const std::vector<Missing>& missing_jumps() const noexcept { return missing_jumps_; }  // `chain` is built-in

 private:
  void compare_chain(const RuleListing& listing, const RuleChain& chain);
  void read_out_filter(const RuleListing& listing, const std::set<ServerKey>& wanted);

  abi::Family family_;
  std::vector<Missing> missing_;
  std::vector<Missing> missing_jumps_;
  bool rejects_ = true;
  std::set<ServerKey> closed_;
  std::vector<std::string> foreign_;
};

}  // namespace sluice::ipvs
