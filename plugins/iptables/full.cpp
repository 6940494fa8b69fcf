// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "plugins/iptables/apply.hpp"
#include "plugins/iptables/service_writer.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::iptables {
namespace {

// Each removal makes iptables compare its way through the chain: from here on it is
// cheaper to write the chain again.
constexpr std::size_t kFewRemovals = 50;
constexpr std::size_t kChainsPerRemoval = 1000;

// What was seen in the kernel; what nobody takes is to go.
class PresentRules final : public Present {
 public:
  explicit PresentRules(Observed& seen) : seen_(seen) {
    for (const SharedChain chain : kSharedChains) {
      const netfilter::Chain* found = seen.chain(table(chain), name(chain));
      if (found == nullptr) continue;
      for (const netfilter::Rule& rule : found->rules) rules(chain).emplace(rule.hash, &rule.text);
    }
  }

  std::optional<std::uint64_t> take_chain(const ChainId& chain) override {
    netfilter::Ruleset::Chains& nat = seen_.rules.make_table("nat");
    const auto found = nat.find(name(chain));
    if (found == nat.end()) return std::nullopt;
    const std::uint64_t content = found->second.content;
    nat.erase(found);
    return content;
  }
  bool take_rule(SharedChain chain, std::uint64_t hash) override {
    const auto found = rules(chain).find(hash);
    if (found == rules(chain).end()) return false;
    rules(chain).erase(found);
    return true;
  }

  using Rules = std::unordered_multimap<std::uint64_t, const std::string*>;
  Rules& rules(SharedChain chain) { return rules_[static_cast<std::size_t>(chain)]; }

 private:
  Observed& seen_;
  std::array<Rules, kSharedChains.size()> rules_;
};

class FullSync {
 public:
  FullSync(KernelSession& session, const ApplyContext& context, StaticPlan fixed)
      : session_(session), context_(context), seen_(session.observe()), present_(seen_) {
    session.accept();
    state_.fixed = std::move(fixed);
  }

  void write_fixed() {
    for (const SharedChain chain : kSharedChains) {
      if (!seen_.chain(table(chain), name(chain))) input_.declare(table(chain), name(chain));
    }
    for (const FixedChain& chain : state_.fixed.chains) write_fixed_chain(chain);
    for (const Table table : {Table::kNat, Table::kFilter}) {
      if (!seen_.chain(table, kCanary)) input_.declare(table, kCanary);
    }
    write_firewall();
    write_tail();
  }

  void write_service_port(const abi::ServicePort& port) {
    const std::string name = sdk::service_port_name(port.key);
    try {
      add_service_port(port, name);
    } catch (const sdk::Failure& why) {
      context_.on_left_out(name, why);
    }
    if (input_.lines() >= context_.batch) send();
  }

  State finish() {
    input_.set_owner({});
    write_jumps();
    remove_rules();
    remove_chains();
    send();
    write_mangle_canary();
    return std::move(state_);
  }

 private:
  void add_service_port(const abi::ServicePort& port, const std::string& name) {
    if (context_.refused.contains(name)) {
      throw sdk::Failure(abi::Code::kKernel, name, "the kernel refused its rules; they are tried again later");
    }
    const ServicePlan plan = plan_service(port, context_.facts);
    input_.set_owner(name);
    state_.put(hash_input(name, sdk::protocol_name(port.key.protocol)),
               write_service(plan, present_, canonicaliser_, input_));
  }

  void send() { session_.send(std::exchange(input_, {})); }

  void write_fixed_chain(const FixedChain& chain) {
    std::uint64_t content = 0;
    for (const std::string& rule : chain.rules) content = netfilter::fold(content, canonicaliser_.hash(rule));
    state_.fixed_chains.push_back({chain.table, chain.name, content});
    const netfilter::Chain* found = seen_.chain(chain.table, chain.name);
    if (found != nullptr && found->content == content) return;
    input_.declare(chain.table, chain.name);
    for (const std::string& rule : chain.rules) input_.append(chain.table, chain.name, rule);
  }

  // Not only ours: a declaration would empty it.
  void write_firewall() {
    const netfilter::Chain* found = seen_.chain(Table::kFilter, kFirewall);
    if (found == nullptr) input_.declare(Table::kFilter, kFirewall);
    const std::string& rule = state_.fixed.firewall_rule;
    if (rule.empty() || (found != nullptr && contains(*found, canonicaliser_.hash(rule)))) return;
    input_.append(Table::kFilter, kFirewall, rule);
  }

  // Last: with each rule it takes, nf_tables walks through everything that can be reached
  // from the built-in chains. As long as the way in is missing, that is nothing, and the
  // load of 5,000 service ports takes half the time.
  void write_jumps() {
    for (const Jump& jump : state_.fixed.jumps) {
      const netfilter::Chain* from = seen_.chain(jump.table, jump.from);
      if (from != nullptr && contains(*from, canonicaliser_.hash(jump.text))) continue;
      input_.insert(jump.table, jump.from, jump.text);
    }
  }

  void write_tail() {
    for (const std::string& text : state_.fixed.tail) state_.tail.push_back({canonicaliser_.hash(text), text});
    const netfilter::Chain* services = seen_.chain(Table::kNat, name(SharedChain::kNatServices));
    if (services != nullptr && ends_with(*services, state_.tail)) {
      for (const netfilter::Rule& rule : state_.tail) present_.take_rule(SharedChain::kNatServices, rule.hash);
      return;
    }
    for (const netfilter::Rule& rule : state_.tail) {
      input_.append(Table::kNat, name(SharedChain::kNatServices), rule.text);
    }
  }

  void remove_rules() {
    std::vector<SharedChain> rewritten;
    for (const SharedChain chain : kSharedChains) {
      const PresentRules::Rules& left = present_.rules(chain);
      if (left.size() > kFewRemovals) {
        rewritten.push_back(chain);
        continue;
      }
      std::vector<std::string> texts;
      for (const auto& [hash, text] : left) texts.push_back(*text);
      std::sort(texts.begin(), texts.end());
      for (const std::string& text : texts) input_.remove(table(chain), name(chain), text);
    }
    if (rewritten.empty()) return;
    send();  // first everything the chains are to point at
    for (const SharedChain chain : rewritten) input_.declare(table(chain), name(chain));
    for (const auto& [key, service] : state_.services()) {
      for (const KnownRule& known : service.shared) {
        if (std::find(rewritten.begin(), rewritten.end(), known.chain) == rewritten.end()) continue;
        input_.append(table(known.chain), name(known.chain), known.rule.text);
      }
    }
    if (std::find(rewritten.begin(), rewritten.end(), SharedChain::kNatServices) == rewritten.end()) return;
    for (const netfilter::Rule& rule : state_.tail) {
      input_.append(Table::kNat, name(SharedChain::kNatServices), rule.text);
    }
  }

  // Chains of service ports that are no more, also those of an earlier process or of a
  // kube-proxy. Nothing of ours points at them now.
  void remove_chains() {
    std::vector<ChainId> stale;
    if (const netfilter::Ruleset::Chains* nat = seen_.rules.table("nat")) {
      for (const auto& [name, chain] : *nat) {
        const auto id = parse_chain(name);
        if (!id) continue;
        if (!seen_.held.contains("nat " + name)) {
          stale.push_back(*id);
        } else if (chain.rule_count != 0) {
          input_.declare(Table::kNat, name);  // somebody's rule points here: emptied at least
        }
      }
    }
    std::sort(stale.begin(), stale.end());
    const bool batched = context_.batch != kOneBatch;
    if (batched && stale.size() > kChainsPerRemoval) send();
    std::size_t count = 0;
    for (const ChainId& chain : stale) {
      remove_chain(chain, input_);
      if (batched && ++count % kChainsPerRemoval == 0) send();
    }
  }

  // Not worth failing for: with nf_tables nobody looks at it but people.
  void write_mangle_canary() {
    if (seen_.chain(Table::kMangle, kCanary)) return;
    netfilter::RestoreInput canary;
    canary.declare(Table::kMangle, kCanary);
    try {
      session_.send(canary);
    } catch (const sdk::Failure& why) {
      context_.log.warning(std::string("make the chain KUBE-PROXY-CANARY in table mangle: ") + why.what());
    }
  }

  KernelSession& session_;
  const ApplyContext& context_;
  Observed seen_;
  PresentRules present_;
  State state_;
  netfilter::Canonicaliser canonicaliser_;
  netfilter::RestoreInput input_;
};

}  // namespace

State apply_full(KernelSession& session, const ApplyContext& context, const abi::Transaction& transaction,
                 StaticPlan fixed) {
  FullSync sync(session, context, std::move(fixed));
  sync.write_fixed();
  for (const abi::ServicePort& port : sdk::range<abi::ServicePort>(transaction.service_ports)) {
    sync.write_service_port(port);
  }
  return sync.finish();
}

}  // namespace sluice::iptables
