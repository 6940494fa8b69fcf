// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/rules/rule_listing.hpp"

#include <functional>
#include <optional>
#include <unordered_set>

#include "plugins/common/netfilter/rule_text.hpp"
#include "plugins/common/netfilter/save_parser.hpp"

namespace sluice::ipvs {
namespace {

using netfilter::Table;

std::uint64_t place_and_rule(Table table, std::string_view from, std::uint64_t rule) {
  return netfilter::fold(netfilter::hash_text(netfilter::in_table(table, from)), rule);
}

}  // namespace

std::vector<RuleJump> jumps_of_iptables() {
  std::vector<RuleJump> jumps;
  constexpr auto kTheirs = names::written_by<names::kIptables, names::kJumps>();
  for (const names::Jump& jump : kTheirs) {
    if (jump.to == names::kProxyFirewall) jumps.push_back(rule_jump(jump));
  }
  return jumps;
}

namespace {

RuleListing parse_listing(Texts texts, const std::function<void(netfilter::SaveParser&)>& read) {
  RuleListing listing;
  netfilter::Canonicaliser canonicaliser;
  std::unordered_set<std::uint64_t> jumps;
  for (const auto& known : {plan_jumps(), jumps_of_iptables()}) {
    for (const RuleJump& jump : known)
      jumps.insert(place_and_rule(jump.table, jump.from, canonicaliser.hash(jump.rule)));
  }
  netfilter::SaveParser parser(
      listing.rules,
      [&](std::string_view table_text, std::string_view chain, bool built_in) {
        const auto table = names::parse_table(table_text);
        return built_in || (table && is_owned(*table, chain) && (texts == Texts::kAll || chain == kOutFilterChain));
      },
      [&](std::string_view table_text, std::string_view chain, std::string_view target, std::uint64_t hash) {
        if (!target.starts_with("KUBE-")) return;
        const auto table = names::parse_table(table_text);
        if (!table) return;
        if (!is_owned(*table, target)) {
          if (*table == Table::kNat && chain == names::kServices) listing.served_by_iptables = true;
        } else if (!is_owned(*table, chain) && !jumps.contains(place_and_rule(*table, chain, hash))) {
          listing.referenced.emplace(*table, target);
        }
      });
  read(parser);
  return listing;
}

}  // namespace

RuleListing list_rules(netfilter::KernelSession& session, Texts texts) {
  return parse_listing(texts, [&](netfilter::SaveParser& parser) { session.list(parser); });
}

RuleListing read_rules(netfilter::KernelSession& session) {
  return parse_listing(Texts::kAll, [&](netfilter::SaveParser& parser) { session.read(parser); });
}

}  // namespace sluice::ipvs
