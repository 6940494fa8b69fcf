// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/rules/rule_drift.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "names/chains.hpp"

namespace sluice::ipvs {
namespace {

const std::vector<netfilter::Rule> kNoRules;

// Targets after which the packet goes on to the next rule, unchanged for our rules.
constexpr std::array<std::string_view, 4> kHarmless = {"", "LOG", "NFLOG", "TRACE"};

class RuleDriftLister {
 public:
  RuleDriftLister(const RuleListing& listing, const OnRuleDrift& on_drift) : listing_(listing), on_drift_(on_drift) {}

  void list_jumps(const std::vector<RuleJump>& jumps) {
    std::map<std::pair<netfilter::Table, std::string_view>, std::set<std::uint64_t>> ours;
    for (const RuleJump& jump : jumps) {
      const std::uint64_t hash = canonicaliser_.hash(jump.rule);
      ours[{jump.table, jump.from}].insert(hash);
      const netfilter::Chain* const from = listing_.chain(jump.table, jump.from);
      if (from == nullptr || !netfilter::contains(*from, hash)) {
        on_drift_({RuleDrift::Kind::kMissing, jump.table, std::string(jump.from), jump.rule});
      }
    }
    for (const auto& [place, hashes] : ours) list_before(place.first, place.second, hashes);
  }

  void list_chain(const RuleChain& chain) {
    if (holds_chain(listing_, chain, canonicaliser_)) return;
    const auto report = [&](RuleDrift::Kind kind, const std::string& rule = {}) {
      on_drift_({kind, chain.table, chain.name, rule});
    };
    if (listing_.chain(chain.table, chain.name) == nullptr) report(RuleDrift::Kind::kChainGone);
    const RuleDifference changed = difference(rules_of(listing_, chain), chain.rules, canonicaliser_);
    for (const std::string* const rule : changed.to_add) report(RuleDrift::Kind::kMissing, *rule);
    for (const std::string* const rule : changed.to_remove) report(RuleDrift::Kind::kAdded, *rule);
    if (changed.empty() && !chain.rules.empty()) report(RuleDrift::Kind::kOrder);
  }

 private:
  void list_before(netfilter::Table table, std::string_view chain, const std::set<std::uint64_t>& ours) {
    const netfilter::Chain* const found = listing_.chain(table, chain);
    if (found == nullptr) return;
    const auto is_ours = [&](const netfilter::Rule& rule) { return ours.contains(rule.hash); };
    const auto last = std::find_if(found->rules.rbegin(), found->rules.rend(), is_ours).base();
    for (auto rule = found->rules.begin(); rule != last; ++rule) {
      if (is_ours(*rule) || !may_matter(table, rule->text)) continue;
      on_drift_({RuleDrift::Kind::kBefore, table, std::string(chain), rule->text});
    }
  }

  bool may_matter(netfilter::Table table, const std::string& rule) {
    canonicaliser_.canonical(rule);
    const std::string_view target = canonicaliser_.target();
    if (std::find(kHarmless.begin(), kHarmless.end(), target) != kHarmless.end()) return false;
    return !names::is_kubelet_chain(target) && names::makers_of_chain(netfilter::table_name(table), target) == 0;
  }

  const RuleListing& listing_;
  const OnRuleDrift& on_drift_;
  netfilter::Canonicaliser canonicaliser_;
};

}  // namespace

bool is_unordered(const RuleChain& chain) { return chain.name == kOutFilterChain; }

const std::vector<netfilter::Rule>& rules_of(const RuleListing& listing, const RuleChain& chain) {
  const netfilter::Chain* found = listing.chain(chain.table, chain.name);
  return found == nullptr ? kNoRules : found->rules;
}

RuleDifference difference(const std::vector<netfilter::Rule>& present, const std::vector<std::string>& wanted,
                          netfilter::Canonicaliser& canonicaliser) {
  std::unordered_multimap<std::uint64_t, const std::string*> left;
  for (const netfilter::Rule& rule : present) left.emplace(rule.hash, &rule.text);
  RuleDifference found;
  for (const std::string& rule : wanted) {
    const auto same = left.find(canonicaliser.hash(rule));
    if (same == left.end()) {
      found.to_add.push_back(&rule);
    } else {
      left.erase(same);
    }
  }
  for (const auto& [hash, text] : left) found.to_remove.push_back(text);
  std::sort(found.to_remove.begin(), found.to_remove.end(), [](const auto* a, const auto* b) { return *a < *b; });
  return found;
}

std::string printed_rule(netfilter::Table table, std::string_view chain, std::string_view rule) {
  return std::string(netfilter::table_name(table)).append(" -A ").append(chain).append(" ").append(rule);
}

bool holds_chain(const RuleListing& listing, const RuleChain& chain, netfilter::Canonicaliser& canonicaliser) {
  if (is_unordered(chain) && listing.chain(chain.table, chain.name) != nullptr) {
    return difference(rules_of(listing, chain), chain.rules, canonicaliser).empty();
  }
  return netfilter::holds(listing.rules, chain.table, chain.name,
                          netfilter::content_of(chain.rules, canonicaliser));
}

void list_rule_drift(const RuleListing& listing, const RulePlan& written, const OnRuleDrift& on_drift) {
  RuleDriftLister lister(listing, on_drift);
  for (const RuleChain& chain : written.chains) lister.list_chain(chain);
  lister.list_jumps(written.jumps);
}

}  // namespace sluice::ipvs
