// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/rules/rule_cleanup.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/ipvs/rules/rule_listing.hpp"

namespace sluice::ipvs {
namespace {

using netfilter::Table;

class Removal {
 public:
  Removal(netfilter::KernelSession& session, abi::Family family, const KeepChain& keep)
      : session_(session), keep_(keep), listing_(list_rules(session, Texts::kAll)) {
    for (const SetId set : all_sets()) sets_.push_back(" --match-set " + set_name(set, family) + " ");
  }

  void run() {
    remove_jumps();
    for (const names::Chain& chain : kOwnedChains) {
      const std::string name(chain.name);
      if (listing_.chain(chain.table, name) == nullptr) continue;
      if (keep_(chain.table, name)) {
        remove_from_kept(chain);
        continue;
      }
      input_.declare(chain.table, name);  // emptied: its rules no longer use sets or other chains
      if (!listing_.referenced.contains({chain.table, name})) input_.remove_chain(chain.table, name);
    }
    session_.send(input_);
  }

 private:
  bool goes(Table table, std::string_view chain) const {
    return is_owned(table, chain) && !keep_(table, std::string(chain));
  }
  // Iptables mode does not have this chain: a new backend that does not claim it is another backend.
  bool another_backend() const { return goes(Table::kFilter, kOutFilterChain); }

  void remove_jumps() {
    for (const RuleJump& jump : plan_jumps()) {
      const std::uint64_t hash = canonicaliser_.hash(jump.rule);
      const std::string_view to = canonicaliser_.target();
      // Iptables mode has its own jumps to this chain.
      const bool ours_alone = to == names::kProxyFirewall && another_backend();
      if (goes(jump.table, to) || ours_alone) remove_from(jump, hash);
    }
    for (const RuleJump& jump : jumps_of_iptables()) {
      const std::uint64_t hash = canonicaliser_.hash(jump.rule);
      if (goes(jump.table, canonicaliser_.target())) remove_from(jump, hash);
    }
  }

  void remove_from(const RuleJump& jump, std::uint64_t hash) {
    const netfilter::Chain* from = listing_.chain(jump.table, jump.from);
    if (from == nullptr) return;
    for (const netfilter::Rule& rule : from->rules) {
      if (rule.hash == hash) input_.remove(jump.table, jump.from, rule.text);
    }
  }

  // Our rules in a chain that the new backend has not rewritten would keep chains and sets in use.
  void remove_from_kept(const names::Chain& chain) {
    if (!another_backend()) return;
    for (const netfilter::Rule& rule : listing_.chain(chain.table, chain.name)->rules) {
      canonicaliser_.canonical(rule.text);
      const bool uses_set = std::any_of(
          sets_.begin(), sets_.end(), [&](const std::string& set) { return rule.text.find(set) != std::string::npos; });
      if (uses_set || goes(chain.table, canonicaliser_.target())) input_.remove(chain.table, chain.name, rule.text);
    }
  }

  netfilter::KernelSession& session_;
  const KeepChain& keep_;
  RuleListing listing_;
  netfilter::Canonicaliser canonicaliser_;
  netfilter::RestoreInput input_;
  std::vector<std::string> sets_;
};

}  // namespace

void remove_nat_jumps(netfilter::KernelSession& session, const KeepChain& keep) {
  const RuleListing listing = list_rules(session);
  netfilter::Canonicaliser canonicaliser;
  netfilter::RestoreInput input;
  for (const RuleJump& jump : plan_jumps()) {
    if (jump.table != Table::kNat || jump.from == "POSTROUTING") continue;
    const std::uint64_t hash = canonicaliser.hash(jump.rule);
    const netfilter::Chain* const from = listing.chain(jump.table, jump.from);
    if (from == nullptr || keep(jump.table, std::string(canonicaliser.target()))) continue;
    for (const netfilter::Rule& rule : from->rules) {
      if (rule.hash == hash) input.remove(jump.table, jump.from, rule.text);
    }
  }
  session.send(input);
}

void remove_rules(netfilter::KernelSession& session, abi::Family family, const KeepChain& keep) {
  Removal(session, family, keep).run();
}

}  // namespace sluice::ipvs
