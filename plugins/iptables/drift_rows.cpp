// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/drift_rows.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lib/text.hpp"
#include "names/jumps.hpp"
#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/common/netfilter/exact_chain.hpp"
#include "plugins/common/netfilter/rule_reader.hpp"
#include "plugins/common/netfilter/save_parser.hpp"
#include "plugins/iptables/kernel_rules.hpp"
#include "plugins/iptables/observe.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::iptables {
namespace {

using abi::DriftKind;
using netfilter::in_table;
using DriftRow = inspection::DriftRows::Row;

// A row shows at most this many rules of a chain.
constexpr std::size_t kShownRules = 20;

std::string count_of_rules(std::size_t count) { return std::to_string(count) + (count == 1 ? " rule" : " rules"); }

// "2 rules: -j A; -j B".
std::string content_text(const netfilter::Chain& chain) {
  std::string text = count_of_rules(chain.rule_count);
  std::string_view between = ": ";
  for (std::size_t i = 0; i < std::min(chain.rules.size(), kShownRules); ++i) {
    text.append(std::exchange(between, "; ")).append(chain.rules[i].text);
  }
  if (chain.rules.size() > kShownRules) text.append("; …");
  return text;
}

std::string content_text(const std::vector<std::string>& rules) {
  return count_of_rules(rules.size()) + ": " + lib::joined(rules, "; ");
}

std::string chain_object(Table table, std::string_view chain) { return "chain " + in_table(table, chain); }
std::string rule_object(Table table, std::string_view chain) { return "rule in " + in_table(table, chain); }

// A jump that a backend of another mode or a kube-proxy has written: it may be there during a swap.
bool is_known_jump(Table table, std::string_view from, std::string_view to) {
  return std::any_of(names::kJumps.begin(), names::kJumps.end(), [&](const names::Jump& known) {
    return known.table == table && known.from == from && known.to == to;
  });
}

// Targets after which the packet continues with the next rule.
bool only_observes(std::string_view target) {
  constexpr std::array<std::string_view, 4> kObservers{"", "LOG", "NFLOG", "TRACE"};
  return std::find(kObservers.begin(), kObservers.end(), target) != kObservers.end();
}

class DriftFinder {
 public:
  DriftFinder(const State& state, inspection::DriftRows& rows) : state_(state), rows_(rows) {
    for (const auto& [key, service] : state.services()) {
      for (const KnownChain& known : service.chains) owned_.emplace(known.id, Owned{&key, &known});
    }
  }

  void list(netfilter::KernelSession& session) {
    netfilter::SaveParser parser(
        kernel_, [](std::string_view, std::string_view, bool) { return true; },
        [this](std::string_view table, std::string_view chain, std::string_view target, std::uint64_t) {
          if (table == "nat" && parse_chain(target) && !is_ours(table, chain)) referenced_.emplace(target);
        },
        [](std::string_view table, std::string_view chain) {
          const auto id = table == "nat" ? parse_chain(chain) : std::nullopt;
          return id && comments_are_optional(id->kind);
        });
    parser.set_drop_text([this](std::string_view table, std::string_view chain, const netfilter::Chain& found) {
      if (!found.built_in && !is_ours(table, chain) && chain != kFirewall) return true;
      const auto id = table == "nat" ? parse_chain(chain) : std::nullopt;
      const auto owned = id ? owned_.find(*id) : owned_.end();
      return owned != owned_.end() && owned->second.chain->content == found.content;
    });
    session.read(parser);
  }

  void compare() {
    compare_jumps();
    for (const netfilter::ExactChain& chain : state_.fixed.chains) compare_fixed(chain);
    for (const Table table : {Table::kNat, Table::kFilter}) expect_canary(table);
    if (state_.mangle_canary) expect_canary(Table::kMangle);
    compare_kubelet_rule();
    for (const SharedChain chain : kSharedChains) index_shared(chain);
    for (const auto& [key, service] : state_.services()) compare_service(key, service);
    compare_tail();
    for (const SharedChain chain : kSharedChains) add_extra_rules(chain);
    add_extra_chains();
  }

 private:
  struct Owned {
    const std::string* key;  // hash_input()
    const KnownChain* chain;
  };
  struct HashOfId {
    std::size_t operator()(const ChainId& id) const noexcept {
      return ServiceNames::HashOfHash()(id.hash) ^ static_cast<std::size_t>(id.kind);
    }
  };
  using FoundRules = std::unordered_multimap<std::uint64_t, const netfilter::Rule*>;

  const netfilter::Chain* chain(Table table, std::string_view name) const {
    return kernel_.chain(netfilter::table_name(table), name);
  }

  void add(DriftKind kind, std::string object, std::string wanted, std::string found) {
    rows_.add({.kind = kind, .object = std::move(object), .wanted = std::move(wanted), .found = std::move(found)});
  }
  void add_of(std::string_view key, DriftKind kind, std::string object, std::string wanted, std::string found) {
    const HashInput input = split_hash_input(key);
    rows_.add({.kind = kind,
               .object = std::move(object),
               .service_port = std::string(input.service_port_name),
               .protocol = input.protocol,
               .wanted = std::move(wanted),
               .found = std::move(found)});
  }

  void compare_jumps() {
    std::unordered_set<std::uint64_t> ours;
    std::set<std::pair<Table, std::string_view>> chains;
    for (const Jump& jump : state_.fixed.jumps) {
      ours.insert(canonicaliser_.hash(jump.text));
      if (jump.removable) chains.emplace(jump.table, jump.from);
      if (netfilter::contains(kernel_, jump.table, jump.from, jump.text, canonicaliser_)) continue;
      add(DriftKind::kDriftMissing, rule_object(jump.table, jump.from), jump.text, {});
    }
    for (const auto& [table, from] : chains) add_rules_above(table, from, ours);
  }

  void add_rules_above(Table table, std::string_view from, const std::unordered_set<std::uint64_t>& ours) {
    const netfilter::Chain* const found = chain(table, from);
    if (found == nullptr) return;
    const auto last = std::find_if(found->rules.rbegin(), found->rules.rend(), [&](const netfilter::Rule& rule) {
      return ours.contains(rule.hash) && target_of(rule) != kFirewall;
    });
    for (auto rule = found->rules.begin(); rule != last.base(); ++rule) {
      const std::string_view target = target_of(*rule);
      if (ours.contains(rule->hash) || only_observes(target) || is_known_jump(table, from, target)) continue;
      add(DriftKind::kDriftForeign, rule_object(table, from) + " above a jump of this backend", {}, rule->text);
    }
  }

  std::string_view target_of(const netfilter::Rule& rule) {
    canonicaliser_.canonical(rule.text);
    return canonicaliser_.target();
  }

  void compare_fixed(const netfilter::ExactChain& wanted) {
    if (netfilter::holds(kernel_, wanted.table, wanted.name, netfilter::content_of(wanted.rules, canonicaliser_))) {
      return;
    }
    const netfilter::Chain* const found = chain(wanted.table, wanted.name);
    add(found == nullptr ? DriftKind::kDriftMissing : DriftKind::kDriftChanged, chain_object(wanted.table, wanted.name),
        content_text(wanted.rules), found == nullptr ? std::string() : content_text(*found));
  }

  void expect_canary(Table table) {
    if (chain(table, kCanary) == nullptr) add(DriftKind::kDriftMissing, chain_object(table, kCanary), {}, {});
  }

  void compare_kubelet_rule() {
    const std::string& rule = state_.fixed.firewall_rule;
    if (rule.empty() || netfilter::contains(kernel_, Table::kFilter, kFirewall, rule, canonicaliser_)) return;
    add(DriftKind::kDriftMissing, rule_object(Table::kFilter, kFirewall), rule, {});
  }

  void index_shared(SharedChain shared) {
    const netfilter::Chain* const found = chain(table(shared), name(shared));
    if (found == nullptr) {
      add(DriftKind::kDriftMissing, chain_object(table(shared), name(shared)), {}, {});
      return;
    }
    for (const netfilter::Rule& rule : found->rules) found_in(shared).emplace(rule.hash, &rule);
  }
  FoundRules& found_in(SharedChain shared) { return found_[static_cast<std::size_t>(shared)]; }
  bool take(SharedChain shared, std::uint64_t hash) {
    FoundRules& found = found_in(shared);
    const auto rule = found.find(hash);
    if (rule == found.end()) return false;
    found.erase(rule);
    return true;
  }

  void compare_service(const std::string& key, const KnownService& service) {
    for (const KnownRule& known : service.shared) {
      if (take(known.chain, known.rule.hash)) continue;
      add_of(key, DriftKind::kDriftMissing, rule_object(table(known.chain), name(known.chain)), known.rule.text, {});
    }
    for (const KnownChain& known : service.chains) {
      const std::string chain_name = name(known.id);
      const netfilter::Chain* const found = chain(Table::kNat, chain_name);
      if (found != nullptr && found->content == known.content) continue;
      add_of(key, found == nullptr ? DriftKind::kDriftMissing : DriftKind::kDriftChanged,
             chain_object(Table::kNat, chain_name), count_of_rules(known.rules),
             found == nullptr ? std::string() : content_text(*found));
    }
  }

  void compare_tail() {
    const netfilter::Chain* const found = chain(Table::kNat, name(SharedChain::kNatServices));
    bool all = found != nullptr;
    for (const netfilter::Rule& rule : state_.tail) {
      if (take(SharedChain::kNatServices, rule.hash)) continue;
      all = false;
      add(DriftKind::kDriftMissing, rule_object(Table::kNat, name(SharedChain::kNatServices)), rule.text, {});
    }
    if (!all || ends_with(*found, state_.tail)) return;
    add(DriftKind::kDriftChanged, "order of " + in_table(Table::kNat, name(SharedChain::kNatServices)),
        "the jump to KUBE-NODEPORTS is last", "other rules follow it");
  }

  void add_extra_rules(SharedChain shared) {
    std::vector<const netfilter::Rule*> extra;
    for (const auto& [hash, rule] : found_in(shared)) extra.push_back(rule);
    std::sort(extra.begin(), extra.end());  // in the order of the chain
    netfilter::RuleReader reader(abi::Family::kIpv4);  // only the comment and the protocol are read
    for (const netfilter::Rule* const rule : extra) {
      const netfilter::RuleFields& fields = reader.read(rule->text);
      const std::string key =
          hash_input(name_in_comment(fields.comment), fields.protocol ? sdk::protocol_name(*fields.protocol) : "");
      std::string object = rule_object(table(shared), name(shared));
      if (state_.find(key) != nullptr) {
        add_of(key, DriftKind::kDriftExtra, std::move(object), {}, rule->text);
      } else {
        add(DriftKind::kDriftExtra, std::move(object), {}, rule->text);
      }
    }
  }

  void add_extra_chains() {
    const netfilter::Ruleset::Chains* const nat = kernel_.table("nat");
    if (nat == nullptr) return;
    std::set<std::string_view> extra;
    for (const auto& [chain_name, found] : *nat) {
      const auto id = parse_chain(chain_name);
      if (!id || owned_.contains(*id)) continue;
      // A full transaction cannot remove a chain with a foreign reference. It leaves it empty.
      if (found.rule_count == 0 && referenced_.contains(chain_name)) continue;
      extra.insert(chain_name);
    }
    for (const std::string_view chain_name : extra) {
      add(DriftKind::kDriftExtra, chain_object(Table::kNat, chain_name), {}, content_text(nat->find(chain_name)->second));
    }
  }

  const State& state_;
  inspection::DriftRows& rows_;
  std::unordered_map<ChainId, Owned, HashOfId> owned_;
  netfilter::Ruleset kernel_;
  std::set<std::string, std::less<>> referenced_;  // chains of service ports that rules of other software reference
  std::array<FoundRules, kSharedChains.size()> found_;  // rules that are not taken yet
  netfilter::Canonicaliser canonicaliser_;
};

}  // namespace

void add_drift_rows(netfilter::KernelSession& session, const State& state, inspection::DriftRows& rows) {
  DriftFinder finder(state, rows);
  finder.list(session);
  finder.compare();
}

}  // namespace sluice::iptables
