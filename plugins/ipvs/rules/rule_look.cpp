// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/rules/rule_look.hpp"

#include <functional>
#include <optional>
#include <unordered_set>

#include "plugins/common/netfilter/rule_text.hpp"
#include "plugins/common/netfilter/save_parser.hpp"

namespace sluice::ipvs {
namespace {

using netfilter::Table;

std::optional<Table> table_of(std::string_view name) {
  for (const Table table : {Table::kFilter, Table::kNat, Table::kMangle}) {
    if (netfilter::table_name(table) == name) return table;
  }
  return std::nullopt;
}

std::uint64_t place_and_rule(Table table, std::string_view from, std::uint64_t rule) {
  return netfilter::fold(netfilter::hash_text(netfilter::in_table(table, from)), rule);
}

}  // namespace

std::vector<RuleJump> jumps_of_iptables() {
  std::vector<RuleJump> jumps;
  for (const std::string_view from : {"INPUT", "OUTPUT", "FORWARD"}) {
    jumps.push_back({Table::kFilter, from,
                     "-m conntrack --ctstate NEW " + netfilter::quoted_comment("kubernetes load balancer firewall") +
                         " -j KUBE-PROXY-FIREWALL"});
  }
  return jumps;
}

namespace {

RuleLook look_through(Texts texts, const std::function<void(netfilter::SaveParser&)>& read) {
  RuleLook look;
  netfilter::Canonicaliser canonicaliser;
  std::unordered_set<std::uint64_t> jumps;
  for (const auto& known : {plan_jumps(), jumps_of_iptables()}) {
    for (const RuleJump& jump : known)
      jumps.insert(place_and_rule(jump.table, jump.from, canonicaliser.hash(jump.rule)));
  }
  netfilter::SaveParser parser(
      look.rules,
      [&](std::string_view table_text, std::string_view chain, bool built_in) {
        const auto table = table_of(table_text);
        return built_in || (table && is_owned(*table, chain) && (texts == Texts::kAll || chain == kOutFilterChain));
      },
      [&](std::string_view table_text, std::string_view chain, std::string_view target, std::uint64_t hash) {
        if (!target.starts_with("KUBE-")) return;
        const auto table = table_of(table_text);
        if (!table) return;
        if (!is_owned(*table, target)) {
          if (*table == Table::kNat && chain == "KUBE-SERVICES") look.served_by_iptables = true;
        } else if (!is_owned(*table, chain) && !jumps.contains(place_and_rule(*table, chain, hash))) {
          look.held.emplace(*table, target);
        }
      });
  read(parser);
  return look;
}

}  // namespace

RuleLook look_at_rules(netfilter::KernelSession& session, Texts texts) {
  return look_through(texts, [&](netfilter::SaveParser& parser) { session.look(parser); });
}

RuleLook read_rules(netfilter::KernelSession& session) {
  return look_through(Texts::kAll, [&](netfilter::SaveParser& parser) { session.read(parser); });
}

}  // namespace sluice::ipvs
