// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Drift between the rules of the kernel and those that were last written. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/ipvs/rules/rule_listing.hpp"
#include "plugins/ipvs/rules/rule_plan.hpp"

namespace sluice::ipvs {

// All rules of this chain drop, so their order does not matter, and single rules may be added and removed.
bool is_unordered(const RuleChain& chain);

// Rules that a chain lacks, and rules that it has in addition, whatever their order.
struct RuleDifference {
  std::vector<const std::string*> to_add;
  std::vector<const std::string*> to_remove;  // sorted by text
  bool empty() const noexcept { return to_add.empty() && to_remove.empty(); }
};
// Points into both lists.
RuleDifference difference(const std::vector<netfilter::Rule>& present, const std::vector<std::string>& wanted,
                          netfilter::Canonicaliser& canonicaliser);

// Empty also if there is no such chain.
const std::vector<netfilter::Rule>& rules_of(const RuleListing& listing, const RuleChain& chain);

// "nat -A KUBE-SERVICES …".
std::string printed_rule(netfilter::Table table, std::string_view chain, std::string_view rule);

// Whether the kernel has the chain as written.
bool holds_chain(const RuleListing& listing, const RuleChain& chain, netfilter::Canonicaliser& canonicaliser);

struct RuleDrift {
  enum class Kind : std::uint8_t {
    kChainGone,
    kOrder,    // of the rules of a chain
    kMissing,  // a rule
    kAdded,    // a rule in one of our chains
    kBefore,   // a rule of another process before a jump to our chains
  };
  Kind kind{};
  netfilter::Table table{};
  std::string chain;
  std::string rule{};
};
using OnRuleDrift = std::function<void(const RuleDrift&)>;

// `listing`: with the texts of our chains. Rules of a chain that is gone are missing. Rules of other backends, of
// kube-proxy and of kubelet are not reported as kBefore.
void list_rule_drift(const RuleListing& listing, const RulePlan& written, const OnRuleDrift& on_drift);

}  // namespace sluice::ipvs
