// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/cleanup.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/iptables/observe.hpp"
#include "plugins/iptables/service_writer.hpp"

namespace sluice::iptables {
namespace {

constexpr std::size_t kChainsPerRemoval = 1000;

class Cleanup {
 public:
  Cleanup(netfilter::KernelSession& session, const KeepChain& keep)
      : session_(session), keep_(keep), seen_(observe(session)) {}

  void run() {
    for (const Table table : {Table::kFilter, Table::kNat, Table::kMangle}) collect(table);
    remove_jumps();
    remove_from_kept_chains();
    for (const auto& [table, chain] : common_) input_.declare(table, chain);
    remove_service_chains();
    for (const auto& [table, chain] : common_) {
      if (!is_held(table, chain)) input_.remove_chain(table, chain);
    }
    session_.send(input_);
  }

 private:
  bool goes(Table table, std::string_view chain) const {
    return is_ours(netfilter::table_name(table), chain) && !keep_(table, chain);
  }
  bool is_held(Table table, std::string_view chain) const {
    return seen_.held.contains(std::string(netfilter::table_name(table)).append(" ").append(chain));
  }

  void collect(Table table) {
    const netfilter::Ruleset::Chains* chains = seen_.rules.table(netfilter::table_name(table));
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
    std::sort(common_.begin(), common_.end());
    std::sort(service_chains_.begin(), service_chains_.end());
  }

  void remove_jumps() {
    for (const Jump& jump : plan_jumps()) {
      const std::uint64_t hash = canonicaliser_.hash(jump.text);
      const netfilter::Chain* from = seen_.chain(jump.table, jump.from);
      if (!jump.removable || from == nullptr || !goes(jump.table, canonicaliser_.target())) continue;
      for (const netfilter::Rule& rule : from->rules) {
        if (rule.hash == hash) input_.remove(jump.table, jump.from, rule.text);
      }
    }
  }

  // A chain that stays for a successor may still hold rules that lead to one that goes.
  void remove_from_kept_chains() {
    for (const SharedChain shared : kSharedChains) {
      const netfilter::Chain* chain = seen_.chain(table(shared), name(shared));
      if (chain == nullptr || !keep_(table(shared), name(shared))) continue;
      for (const netfilter::Rule& rule : chain->rules) {
        canonicaliser_.canonical(rule.text);
        if (goes(table(shared), canonicaliser_.target())) input_.remove(table(shared), name(shared), rule.text);
      }
    }
  }

  void remove_service_chains() {
    const bool batched = session_.kernel().tools().variant == netfilter::Variant::kNft;
    std::size_t count = 0;
    for (const ChainId& chain : service_chains_) {
      if (is_held(Table::kNat, name(chain))) {
        input_.declare(Table::kNat, name(chain));
        continue;
      }
      remove_chain(chain, input_);
      if (batched && ++count % kChainsPerRemoval == 0) session_.send(std::exchange(input_, {}));
    }
  }

  netfilter::KernelSession& session_;
  const KeepChain& keep_;
  Observed seen_;
  netfilter::Canonicaliser canonicaliser_;
  netfilter::RestoreInput input_;
  std::vector<std::pair<Table, std::string>> common_;  // chains that are not of one service port
  std::vector<ChainId> service_chains_;
};

}  // namespace

void remove_everything(netfilter::KernelSession& session, const KeepChain& keep) { Cleanup(session, keep).run(); }

}  // namespace sluice::iptables
