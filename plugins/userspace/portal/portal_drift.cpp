// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/portal_drift.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "plugins/common/netfilter/drift.hpp"
#include "plugins/userspace/portal/portal_order.hpp"
#include "plugins/userspace/portal/portal_state.hpp"

namespace sluice::userspace {
namespace {

using netfilter::Rule;
using netfilter::Table;

// Targets after which a packet goes on to the next rule.
constexpr std::array<std::string_view, 9> kContinuingTargets{"",      "MARK",   "CONNMARK", "LOG",     "NFLOG",
                                                             "TRACE", "TCPMSS", "CT",       "CLASSIFY"};

// Whether the rule may keep a new connection from the chains of this backend. Chains of Kubernetes components do not.
bool may_divert(const Rule& rule) {
  const std::string_view text = rule.text;
  const bool old_only = text.find("state ") != text.npos && text.find("NEW") == text.npos;
  const std::string target = read_portal_rule(text).target;
  return !old_only && !target.starts_with("KUBE-") &&
         std::find(kContinuingTargets.begin(), kContinuingTargets.end(), target) == kContinuingTargets.end();
}

std::string_view first_word_of(std::string_view text) { return text.substr(0, text.find(' ')); }

class Differences {
 public:
  Differences(const WantedPortals& wanted, const PortalListing& listing, const VisitDifference& visit)
      : wanted_(wanted), listing_(listing), visit_(visit), jumps_(find_jumps(listing)) {}

  void find() {
    compare_jump_rules();
    for (std::size_t i = 0; i < kPortalChains.size(); ++i) compare_chain(i);
    find_foreign_jumps();
  }

 private:
  using Kind = abi::DriftKind;

  void compare_jump_rules() {
    const JumpsInPlace in_place = compare_jumps(wanted_.jumps, jumps_.ours);
    std::vector<bool> moved(jumps_.ours.size(), false);
    for (std::size_t i = 0; i < wanted_.jumps.size(); ++i) {
      const WantedJump& jump = wanted_.jumps[i];
      if (in_place.wanted[i]) continue;
      PortalDifference missing{Kind::kDriftMissing, DifferentObject::kJump, jump.table, jump.from, &jump.rule};
      for (std::size_t j = 0; j < jumps_.ours.size(); ++j) {
        const PortalJump& other = jumps_.ours[j];
        const bool same = other.table == jump.table && other.from == jump.from && other.rule.hash == jump.rule.hash;
        if (!same || in_place.needed[j] || moved[j]) continue;
        moved[j] = true;
        missing.kind = Kind::kDriftChanged;
        missing.found = &other.rule;
        break;
      }
      visit_(missing);
    }
    for (std::size_t j = 0; j < jumps_.ours.size(); ++j) {
      const PortalJump& jump = jumps_.ours[j];
      if (in_place.needed[j] || moved[j]) continue;
      visit_({Kind::kDriftExtra, DifferentObject::kJump, jump.table, jump.from, nullptr, &jump.rule});
    }
    find_diverting_rules(in_place);
  }

  // Rules of other programs above the jumps that this backend inserts at the top.
  void find_diverting_rules(const JumpsInPlace& in_place) {
    std::map<std::pair<Table, std::string>, std::size_t> last;
    for (std::size_t j = 0; j < jumps_.ours.size(); ++j) {
      const PortalJump& jump = jumps_.ours[j];
      const bool on_top = std::any_of(wanted_.jumps.begin(), wanted_.jumps.end(), [&](const WantedJump& one) {
        return one.first && one.table == jump.table && one.from == jump.from && one.rule.hash == jump.rule.hash;
      });
      if (on_top && in_place.needed[j])
        last[{jump.table, jump.from}] = std::max(last[{jump.table, jump.from}], jump.position);
    }
    for (const auto& [where, end] : last) {
      const std::vector<Rule>& rules = listing_.rules.chain(netfilter::table_name(where.first), where.second)->rules;
      for (std::size_t i = 0; i < end; ++i) {
        if (may_divert(rules[i]))
          visit_({Kind::kDriftForeign, DifferentObject::kRule, where.first, where.second, nullptr, &rules[i]});
      }
    }
  }

  void find_foreign_jumps() {
    for (const PortalJump& jump : jumps_.foreign) {
      visit_({Kind::kDriftForeign, DifferentObject::kJump, jump.table, jump.from, nullptr, &jump.rule});
    }
    for (const std::size_t chain : listing_.foreign_references) {
      visit_({Kind::kDriftForeign, DifferentObject::kChain, kPortalChains[chain].table, kPortalChains[chain].name});
    }
  }

  struct Missing {
    const Rule* rule;
    const PortalId* of;
  };

  void compare_chain(std::size_t index) {
    const netfilter::Chain* chain = listing_.chain(index);
    PortalDifference difference{Kind::kDriftMissing, DifferentObject::kChain, kPortalChains[index].table,
                                kPortalChains[index].name};
    if (chain == nullptr) visit_(difference);
    difference.object = DifferentObject::kRule;
    difference.implied = chain == nullptr;
    const std::vector<Rule> none;
    PresentRules present(chain == nullptr ? none : chain->rules);
    std::vector<Missing> missing;
    for (const auto& entry : wanted_.portals) {
      const std::vector<Rule>& rules = entry.second[index];
      present.match_all(hashes_of(rules), [&](std::size_t i) { missing.push_back({&rules[i], &entry.first}); });
    }
    std::vector<const Rule*> extra;
    present.each_unmatched([&](const Rule& rule) { extra.push_back(&rule); });
    const auto pair_up = [&](auto matches) {
      for (Missing& one : missing) {
        if (one.rule == nullptr) continue;
        const auto found = std::find_if(extra.begin(), extra.end(),
                                        [&](const Rule* rule) { return rule != nullptr && matches(*one.rule, *rule); });
        if (found == extra.end()) continue;
        difference.kind = Kind::kDriftChanged;
        difference.wanted = std::exchange(one.rule, nullptr);
        difference.found = std::exchange(*found, nullptr);
        difference.of = one.of;
        visit_(difference);
      }
    };
    if (!missing.empty() && !extra.empty()) {
      pair_up([](const Rule& a, const Rule& b) { return a.hash == b.hash; });
      pair_up([](const Rule& a, const Rule& b) { return is_of_same_kind(a, b); });
    }
    for (const Missing& one : missing) {
      if (one.rule == nullptr) continue;
      difference.kind = Kind::kDriftMissing;
      difference.wanted = one.rule;
      difference.found = nullptr;
      difference.of = one.of;
      visit_(difference);
    }
    for (const Rule* const rule : extra) {
      if (rule == nullptr) continue;
      visit_({Kind::kDriftExtra, DifferentObject::kRule, difference.table, difference.chain, nullptr, rule,
              owner_of(*rule)});
    }
  }

  static bool is_of_same_kind(const Rule& a, const Rule& b) {
    const PortalRuleText one = read_portal_rule(a.text);
    const PortalRuleText other = read_portal_rule(b.text);
    return !one.comment.empty() && one.comment == other.comment && one.protocol == other.protocol;
  }

  // The service port that the comment names, if it is wanted.
  const PortalId* owner_of(const Rule& rule) const {
    const PortalRuleText read = read_portal_rule(rule.text);
    const auto found = wanted_.portals.find(
        {std::string(first_word_of(read.comment)), read.protocol == "udp" ? abi::Protocol::kUdp : abi::Protocol::kTcp});
    return found == wanted_.portals.end() ? nullptr : &found->first;
  }

  const WantedPortals& wanted_;
  const PortalListing& listing_;
  const VisitDifference& visit_;
  const PortalJumps jumps_;
};

}  // namespace

bool needs_repair(const PortalDifference& difference) noexcept {
  if (difference.kind == abi::DriftKind::kDriftForeign) return false;
  return difference.wanted != nullptr || difference.object != DifferentObject::kJump;
}

void each_difference(const WantedPortals& wanted, const PortalListing& listing, const VisitDifference& visit) {
  Differences(wanted, listing, visit).find();
}

std::optional<std::string> describe_drift(const WantedPortals& wanted, const PortalListing& listing) {
  netfilter::Drift drift;
  each_difference(wanted, listing, [&](const PortalDifference& one) {
    if (!needs_repair(one) || one.implied) return;
    drift.add([&] {
      const std::string where = std::string(netfilter::table_name(one.table)).append(" ").append(one.chain);
      if (one.object == DifferentObject::kChain) return where + " is gone";
      return one.wanted != nullptr ? "the rule \"" + one.wanted->text + "\" in " + where + " is gone"
                                   : "the rule \"" + one.found->text + "\" in " + where + " is not ours";
    });
  });
  if (drift.empty()) return std::nullopt;
  return drift.describe();
}

}  // namespace sluice::userspace
