// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/cleanup.hpp"

#include <algorithm>
#include <utility>

#include "plugins/iptables/service_writer.hpp"

namespace sluice::iptables {
namespace {

bool is_entry_jump(const Jump& jump) { return jump.table == Table::kNat && jump.from != "POSTROUTING"; }

}  // namespace

Removal::Removal(netfilter::KernelSession& session, KeepChain keep)
    : session_(session), keep_(std::move(keep)), observed_(observe(session)) {
  for (const Table table : {Table::kFilter, Table::kNat, Table::kMangle}) collect(table);
  std::sort(common_.begin(), common_.end());
  std::sort(service_chains_.begin(), service_chains_.end());
}

bool Removal::is_held(Table table, std::string_view chain) const {
  return observed_.held.contains(std::string(netfilter::table_name(table)).append(" ").append(chain));
}

// Whether the chains that stay belong to another kind of backend. KUBE-EXTERNAL-SERVICES exists only in iptables mode.
bool Removal::another_backend_stays() const {
  return !keep_(Table::kFilter, name(SharedChain::kFilterExternal));
}

void Removal::collect(Table table) {
  const netfilter::Ruleset::Chains* chains = observed_.rules.table(netfilter::table_name(table));
  if (chains == nullptr) return;
  for (const auto& [name, chain] : *chains) {
    if (chain.built_in || !goes(table, name)) continue;
    const auto service_chain = parse_chain(name);
    if (service_chain) {
      service_chains_.push_back(*service_chain);
    } else {
      common_.emplace_back(table, name);
    }
  }
}

void Removal::remove_jumps(bool entry) {
  for (const Jump& jump : plan_jumps()) {
    if (!jump.removable || is_entry_jump(jump) != entry) continue;
    const std::uint64_t hash = canonicaliser_.hash(jump.text);
    const std::string_view to = canonicaliser_.target();
    // ipvs mode has this chain too, with other jumps to it.
    const bool ours_alone = to == name(SharedChain::kFilterFirewall) && another_backend_stays();
    const netfilter::Chain* from = observed_.chain(jump.table, jump.from);
    if (from == nullptr || !(goes(jump.table, to) || ours_alone)) continue;
    for (const netfilter::Rule& rule : from->rules) {
      if (rule.hash == hash) input_.remove(jump.table, jump.from, rule.text);
    }
  }
}

// A rule that jumps to a removed chain, or that would drop traffic of the other backend.
bool Removal::is_ours_alone(SharedChain chain, const std::string& rule) {
  canonicaliser_.canonical(rule);
  if (goes(table(chain), canonicaliser_.target())) return true;
  return chain == SharedChain::kFilterFirewall && another_backend_stays() &&
         rule.find(std::string("not accepted by ").append(prefix(ChainKind::kFirewall))) != std::string::npos;
}

// A chain that stays for another backend may still have rules of this one if the other has not rewritten it.
void Removal::remove_from_kept_chains(Table in) {
  for (const SharedChain shared : kSharedChains) {
    const netfilter::Chain* chain = observed_.chain(table(shared), name(shared));
    if (table(shared) != in || chain == nullptr || !keep_(in, name(shared))) continue;
    std::vector<const std::string*> going;
    std::vector<const std::string*> staying;
    for (const netfilter::Rule& rule : chain->rules) {
      (is_ours_alone(shared, rule.text) ? going : staying).push_back(&rule.text);
    }
    if (going.size() <= kFewRemovals) {
      for (const std::string* rule : going) input_.remove(in, name(shared), *rule);
      continue;
    }
    input_.declare(in, name(shared));
    for (const std::string* rule : staying) input_.append(in, name(shared), *rule);
  }
}

void Removal::collect_entry_jumps() {
  if (std::exchange(closed_, true)) return;
  remove_jumps(true);
  remove_from_kept_chains(Table::kNat);
}

void Removal::collect_remaining() {
  if (std::exchange(begun_, true)) return;
  remove_jumps(false);
  remove_from_kept_chains(Table::kFilter);
  for (const auto& [table, chain] : common_) input_.declare(table, chain);
}

void Removal::send() { session_.send(std::exchange(input_, {})); }

bool Removal::remove_entry_jumps() {
  collect_entry_jumps();
  const bool open = !input_.empty();
  send();
  return open;
}

bool Removal::remove(std::size_t most) {
  collect_entry_jumps();
  collect_remaining();
  const bool batched = session_.kernel().tools().variant == netfilter::Variant::kNft;
  const std::size_t end = !batched || service_chains_.size() - next_ < most ? service_chains_.size() : next_ + most;
  for (std::size_t count = 0; next_ < end; ++next_) {
    const ChainId& chain = service_chains_[next_];
    if (is_held(Table::kNat, name(chain))) {
      input_.declare(Table::kNat, name(chain));
      continue;
    }
    remove_chain(chain, input_);
    if (batched && ++count % kChainsPerRemoval == 0) send();
  }
  const bool all = next_ == service_chains_.size();
  if (all) {
    for (const auto& [table, chain] : std::exchange(common_, {})) {
      if (!is_held(table, chain)) input_.remove_chain(table, chain);
    }
  }
  send();
  return all;
}

void remove_everything(netfilter::KernelSession& session, const KeepChain& keep) { Removal(session, keep).remove(); }

}  // namespace sluice::iptables
