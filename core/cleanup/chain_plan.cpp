// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/cleanup/chains.hpp"
#include "names/jumps.hpp"
#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/common/netfilter/ruleset.hpp"
#include "plugins/common/netfilter/save_parser.hpp"

namespace sluice::cleanup {
namespace {

using netfilter::Table;

std::uint64_t key(std::string_view table, std::string_view from, std::uint64_t rule) {
  return netfilter::fold(netfilter::fold(netfilter::hash_text(table), netfilter::hash_text(from)), rule);
}

// iptables-save prints this for a table with nft rules that iptables does not support.
constexpr std::string_view kIncompatible = "# Table `";

// The table that a comment line of iptables-save reports as incompatible; empty for other lines.
std::string incompatible_table(std::string_view line) {
  if (!line.starts_with(kIncompatible) || line.find("is incompatible") == std::string_view::npos) return {};
  line.remove_prefix(kIncompatible.size());
  return std::string(line.substr(0, line.find('\'')));
}

// The rule without its destination match, which iptables-save prints first.
std::string_view without_destination(std::string_view rule) {
  std::string_view rest = rule;
  if (rest.starts_with("! ")) rest.remove_prefix(2);
  if (!rest.starts_with("-d ")) return rule;
  rest.remove_prefix(3);
  return rest.substr(std::min(rest.find(' ') + 1, rest.size()));
}

}  // namespace

struct ChainPlanner::State {
  State(const Selection& wanted, lib::Family of)
      : selection(wanted),
        family(of),
        parser(
            rules, [](std::string_view, std::string_view, bool built_in) { return built_in; },
            [this](std::string_view table, std::string_view chain, std::string_view target, std::uint64_t hash) {
              check_reference(table, chain, target, hash);
            }) {
    for (const KnownJump& jump : known_jumps()) {
      const std::uint64_t rule = key(jump.table, jump.from, canonicaliser.hash(jump.rule));
      known.insert(rule);
      if (selection.jump(jump)) alone.insert(rule);
    }
  }

  void check_reference(std::string_view table, std::string_view chain, std::string_view target, std::uint64_t hash) {
    if (target.empty() || selection.chain(family, table, chain)) return;
    if (selection.chain(family, table, target) || alone.contains(key(table, chain, hash))) {
      references.emplace(table, chain, target, hash);
    }
  }

  // A jump for every packet, every new connection or every packet to this node. Other matches mean that another program
  // selects packets with the rule.
  bool is_plain(std::string_view rule, std::string_view target) {
    const std::uint64_t hash = canonicaliser.hash_without_comments(rule);
    for (const std::string_view match : {std::string_view(), names::kNewConnections, names::kToThisNode}) {
      const std::string plain = std::string(match).append(match.empty() ? "-j " : " -j ").append(target);
      if (canonicaliser.hash_without_comments(plain) == hash) return true;
    }
    return false;
  }

  bool is_known(const std::string& table, const std::string& from, const std::string& target,
                const netfilter::Rule& rule) {
    if (known.contains(key(table, from, rule.hash))) return true;
    return chosen_by_destination(target) &&
           known.contains(key(table, from, canonicaliser.hash(without_destination(rule.text))));
  }

  // The rule of a reference if it is to be removed; null otherwise.
  const netfilter::Rule* removable(const std::string& table, const std::string& from, const std::string& target,
                                   std::uint64_t hash) {
    const netfilter::Chain* chain = rules.chain(table, from);
    if (chain == nullptr || !chain->built_in) return nullptr;
    for (const netfilter::Rule& rule : chain->rules) {
      if (rule.hash != hash) continue;
      const bool remove = is_known(table, from, target, rule) ||
                          (selection.is_claimed_chain(family, table, target) && is_plain(rule.text, target));
      return remove ? &rule : nullptr;
    }
    return nullptr;
  }

  const Selection& selection;
  const lib::Family family;
  netfilter::Ruleset rules;
  netfilter::Canonicaliser canonicaliser;
  std::set<std::uint64_t> known;
  std::set<std::uint64_t> alone;  // known jumps to remove although their chain stays
  // Table, chain that stays, chain to remove, hash of the rule.
  std::multiset<std::tuple<std::string, std::string, std::string, std::uint64_t>> references;
  std::string comment;  // of the current line
  bool in_comment = false;
  bool at_start = true;
  std::vector<std::string> unreadable;
  netfilter::SaveParser parser;
};

ChainPlanner::ChainPlanner(const Selection& selection, lib::Family family)
    : state_(std::make_unique<State>(selection, family)) {}
ChainPlanner::~ChainPlanner() = default;

void ChainPlanner::parse(std::string_view piece) {
  State& s = *state_;
  s.parser.append(piece);
  for (const char c : piece) {
    if (s.at_start) s.in_comment = c == '#';
    s.at_start = c == '\n';
    if (s.in_comment && c != '\n') s.comment.push_back(c);
    if (c != '\n' || s.comment.empty()) continue;
    std::string table = incompatible_table(s.comment);
    if (names::parse_table(table)) s.unreadable.push_back(std::move(table));
    s.comment.clear();
  }
}

bool ChainPlanner::finish(ChainPlan& into) {
  State& s = *state_;
  s.parser.finish();
  if (!s.parser.complete()) return false;
  into.unreadable = s.unreadable;
  for (const auto& [table, from, target, hash] : s.references) {
    const auto known_table = names::parse_table(table);
    const netfilter::Chain* chain = s.rules.chain(table, target);
    if (!known_table || chain == nullptr || chain->built_in) continue;
    if (const netfilter::Rule* rule = s.removable(table, from, target, hash)) {
      into.jumps.push_back({*known_table, from, rule->text});
    } else if (s.selection.chain(s.family, table, target)) {
      into.held.emplace(ChainPlan::Chain{*known_table, target}, from);
    }
  }
  for (const Table table : {Table::kFilter, Table::kNat, Table::kMangle}) {
    const netfilter::Ruleset::Chains* chains = s.rules.table(netfilter::table_name(table));
    if (chains == nullptr) continue;
    for (const auto& [name, chain] : *chains) {
      ChainPlan::Chain one{table, name};
      if (chain.built_in || !s.selection.chain(s.family, netfilter::table_name(table), name)) continue;
      if (!into.held.contains(one)) into.chains.push_back(std::move(one));
    }
  }
  std::sort(into.chains.begin(), into.chains.end());
  return true;
}

}  // namespace sluice::cleanup
