// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "plugins/common/log_ids.hpp"
#include "plugins/iptables/apply.hpp"
#include "plugins/iptables/cleanup.hpp"
#include "plugins/iptables/observe.hpp"
#include "plugins/iptables/service_writer.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::iptables {
namespace {

// The chains and rules in the kernel. Those that are not taken are removed.
class PresentRules final : public Present {
 public:
  explicit PresentRules(Observed& observed) : observed_(observed) {
    for (const SharedChain chain : kSharedChains) {
      const netfilter::Chain* found = observed.chain(table(chain), name(chain));
      if (found == nullptr) continue;
      for (const netfilter::Rule& rule : found->rules) rules(chain).emplace(rule.hash, &rule.text);
    }
  }

  std::optional<std::uint64_t> take_chain(const ChainId& chain) override {
    netfilter::Ruleset::Chains& nat = observed_.rules.make_table("nat");
    const auto found = nat.find(name(chain));
    if (found == nat.end()) return std::nullopt;
    const std::uint64_t content = found->second.content;
    taken_.chains.push_back(nat.extract(found));
    return content;
  }
  bool take_rule(SharedChain chain, std::uint64_t hash) override {
    const auto found = rules(chain).find(hash);
    if (found == rules(chain).end()) {
      lacks_[static_cast<std::size_t>(chain)] = true;
      return false;
    }
    taken_.rules.emplace_back(chain, rules(chain).extract(found));
    return true;
  }

  // The rules are there, but in the wrong order.
  void want_order(SharedChain chain) { lacks_[static_cast<std::size_t>(chain)] = true; }
  // Whether a wanted rule is missing, in the wrong place, or an unwanted rule is there.
  bool differs(SharedChain chain) { return lacks_[static_cast<std::size_t>(chain)] || !rules(chain).empty(); }

  using Rules = std::unordered_multimap<std::uint64_t, const std::string*>;
  Rules& rules(SharedChain chain) { return rules_[static_cast<std::size_t>(chain)]; }

  // Everything taken since the last call, so that it can be given back.
  struct Taken {
    std::vector<netfilter::Ruleset::Chains::node_type> chains;
    std::vector<std::pair<SharedChain, Rules::node_type>> rules;
  };
  Taken taken() { return std::exchange(taken_, {}); }
  void give_back(Taken taken) {
    for (auto& chain : taken.chains) observed_.rules.make_table("nat").insert(std::move(chain));
    for (auto& [chain, rule] : taken.rules) rules(chain).insert(std::move(rule));
  }

  // Takes all chains and rules of `service` if all of them are there.
  bool take_whole(const KnownService& service) {
    bool whole = true;
    for (const KnownChain& chain : service.chains) whole = whole && take_chain(chain.id) == chain.content;
    for (const KnownRule& rule : service.shared) whole = whole && take_rule(rule.chain, rule.rule.hash);
    Taken all = taken();
    if (!whole) give_back(std::move(all));
    return whole;
  }

 private:
  Observed& observed_;
  std::array<Rules, kSharedChains.size()> rules_;
  std::array<bool, kSharedChains.size()> lacks_{};
  Taken taken_;
};

class FullSync {
 public:
  FullSync(netfilter::KernelSession& session, const ApplyContext& context, StaticPlan fixed, State before)
      : session_(session),
        context_(context),
        observed_(observe(session)),
        present_(observed_),
        before_(std::move(before)) {
    session.accept();
    state_.fixed = std::move(fixed);
  }

  void write_fixed() {
    for (const SharedChain chain : kSharedChains) {
      if (!observed_.chain(table(chain), name(chain))) input_.declare(table(chain), name(chain));
    }
    for (const netfilter::ExactChain& chain : state_.fixed.chains) write_fixed_chain(chain);
    for (const Table table : {Table::kNat, Table::kFilter}) {
      if (!observed_.chain(table, kCanary)) input_.declare(table, kCanary);
    }
    write_firewall();
    write_tail();
  }

  void write_service_port(const abi::ServicePort& port) {
    Pending pending;
    pending.name = sdk::service_port_name(port.key);
    pending.key = hash_input(pending.name, sdk::protocol_name(port.key.protocol));
    pending.before = before_.take(pending.key);
    if (context_.submitter.is_refused(pending.name)) {  // found by search() before this retry
      keep_before(pending);
      return;
    }
    if (context_.skipped.contains(pending.name)) {
      keep_before(pending);
      context_.on_not_programmed(pending.name,
                           {abi::Code::kKernel, {}, "the kernel refuses its rules; they are tried again later"});
      return;
    }
    try {
      const ServicePlan plan = plan_service(port, context_.facts, context_.choices);
      input_.set_owner(pending.name);
      pending.wanted = write_service(plan, present_, canonicaliser_, input_,
                                     context_.takeover ? SharedRules::kLeave : SharedRules::kInsert);
    } catch (const sdk::Failure& why) {
      context_.on_not_programmed(pending.name, why);
      return;
    }
    pending.taken = present_.taken();
    pending_.push_back(std::move(pending));
    if (input_.lines() >= context_.batch) send();
  }

  State finish() {
    input_.set_owner({});
    if (context_.takeover) {
      write_entry_jumps();
      return std::move(state_);
    }
    write_jumps(input_, input_);
    if (has_few_leftovers()) {
      remove_leftovers();  // in the same restore as the last service ports
      if (!send()) remove_leftovers();
    } else {
      send();  // first the chains that rewritten shared chains jump to
      remove_leftovers();
    }
    session_.send(std::exchange(input_, {}));
    write_mangle_canary();
    return std::move(state_);
  }

 private:
  // A service port in the current input.
  struct Pending {
    std::string key;
    std::string name;
    KnownService wanted;
    std::optional<KnownService> before;
    PresentRules::Taken taken;
  };

  // Returns whether all of the input was written, including the removal of leftovers.
  bool send() {
    const bool all = context_.submitter.send(std::exchange(input_, {}));
    for (Pending& pending : std::exchange(pending_, {})) {
      if (!context_.submitter.is_refused(pending.name)) {
        if (context_.takeover) in_order_.emplace_back(pending.key, pending.name);
        state_.put(pending.key, std::move(pending.wanted));
        continue;
      }
      present_.give_back(std::move(pending.taken));
      keep_before(pending);
    }
    return all;
  }

  // All chains are written but unreferenced. One COMMIT changes table nat as a whole, so the old backend serves before
  // it and this one after it. KUBE-PROXY-FIREWALL comes last, because it drops packets that this backend has not
  // translated.
  void write_entry_jumps() {
    send();
    context_.before_entry_jumps();
    netfilter::RestoreInput behind;
    for (const SharedChain chain : kSharedChains) {
      if (!present_.differs(chain)) continue;
      netfilter::RestoreInput& input = chain == SharedChain::kFilterFirewall ? behind : last_;
      input.set_owner({});
      input.declare(table(chain), name(chain));
      append_all(chain, name(chain), input);
    }
    last_.set_owner({});
    behind.set_owner({});
    write_jumps(last_, behind);
    for (const netfilter::RestoreInput* input : {&last_, &behind}) {
      if (const auto refusal = session_.try_send(*input)) find_refused(*refusal);
    }
    remove_chains();
    session_.send(std::exchange(input_, {}));
    write_mangle_canary();
  }

  // The shared chains still serve the old backend, so rejected rules cannot be found by writing to them. The rules are
  // tried in unreferenced chains instead.
  [[noreturn]] void find_refused(const netfilter::Refusal& refusal) {
    const std::string trial = name(ChainId{ChainKind::kCluster, netfilter::base32_hash("trial of rules")});
    netfilter::RestoreInput input;
    netfilter::RestoreInput removal;
    for (const Table table : {Table::kFilter, Table::kNat}) {
      for (netfilter::RestoreInput* const each : {&input, &removal}) each->declare(table, trial);
      removal.remove_chain(table, trial);
    }
    for (const SharedChain chain : kSharedChains) append_all(chain, trial, input);
    try {
      context_.submitter.search(input, refusal);
    } catch (const sdk::Failure&) {
      session_.send(removal);
      throw;
    }
  }

  // Appends the rules of all service ports in the order of the transaction.
  void append_all(SharedChain chain, std::string_view to, netfilter::RestoreInput& input) {
    for (const auto& [key, owner] : in_order_) {
      const KnownService* const service = state_.find(key);
      if (service == nullptr) continue;
      input.set_owner(owner);
      for (const KnownRule& known : service->shared) {
        if (known.chain == chain) input.append(table(chain), to, known.rule.text);
      }
    }
    input.set_owner({});
    if (chain != SharedChain::kNatServices) return;
    for (const netfilter::Rule& rule : state_.tail) input.append(Table::kNat, to, rule.text);
  }

  void keep_before(Pending& pending) {
    if (!pending.before || !present_.take_whole(*pending.before)) return;
    if (context_.takeover) in_order_.emplace_back(pending.key, pending.name);
    state_.put(pending.key, std::move(*pending.before));
  }

  void write_fixed_chain(const netfilter::ExactChain& chain) {
    const std::uint64_t content = netfilter::content_of(chain.rules, canonicaliser_);
    state_.fixed_chains.push_back({chain.table, chain.name, content});
    if (netfilter::holds(observed_.rules, chain.table, chain.name, content)) return;
    // An existing chain may be in use by the old backend.
    const bool later = context_.takeover && observed_.chain(chain.table, chain.name) != nullptr;
    netfilter::write(chain, later ? last_ : input_);
  }

  // Shared with kubelet, so it must not be declared again, which would empty it.
  void write_firewall() {
    const netfilter::Chain* found = observed_.chain(Table::kFilter, kFirewall);
    if (found == nullptr) input_.declare(Table::kFilter, kFirewall);
    const std::string& rule = state_.fixed.firewall_rule;
    if (rule.empty() || (found != nullptr && netfilter::contains(*found, canonicaliser_.hash(rule)))) return;
    input_.append(Table::kFilter, kFirewall, rule);
  }

  // Last, because for each new rule nf_tables walks through all chains that can be reached from
  // the built-in chains. Without the jumps these are none, which halves the load time of 5,000
  // service ports.
  void write_jumps(netfilter::RestoreInput& input, netfilter::RestoreInput& to_firewall) {
    for (const Jump& jump : state_.fixed.jumps) {
      if (netfilter::contains(observed_.rules, jump.table, jump.from, jump.text, canonicaliser_)) continue;
      const bool late = canonicaliser_.target() == name(SharedChain::kFilterFirewall);
      (late ? to_firewall : input).insert(jump.table, jump.from, jump.text);
    }
  }

  void write_tail() {
    for (const std::string& text : state_.fixed.tail) state_.tail.push_back({canonicaliser_.hash(text), text});
    const netfilter::Chain* services = observed_.chain(Table::kNat, name(SharedChain::kNatServices));
    if (services != nullptr && ends_with(*services, state_.tail)) {
      for (const netfilter::Rule& rule : state_.tail) present_.take_rule(SharedChain::kNatServices, rule.hash);
      return;
    }
    if (context_.takeover) {
      for (const netfilter::Rule& rule : state_.tail) present_.take_rule(SharedChain::kNatServices, rule.hash);
      present_.want_order(SharedChain::kNatServices);
      return;
    }
    for (const netfilter::Rule& rule : state_.tail) {
      input_.append(Table::kNat, name(SharedChain::kNatServices), rule.text);
    }
  }

  bool has_few_leftovers() {
    return std::all_of(kSharedChains.begin(), kSharedChains.end(),
                       [this](SharedChain chain) { return present_.rules(chain).size() <= kFewRemovals; }) &&
           (!is_batched() || find_stale_chains().size() <= kChainsPerRemoval);
  }
  bool is_batched() const { return context_.batch != netfilter::kOneBatch; }

  // Removes the observed chains and rules that were not taken.
  void remove_leftovers() {
    input_.set_leftovers();
    remove_rules();
    remove_chains();
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

  // Chains of removed service ports, including those of an earlier process or of a kube-proxy.
  // No own rule references them.
  std::vector<std::pair<ChainId, const netfilter::Chain*>> find_stale_chains() const {
    std::vector<std::pair<ChainId, const netfilter::Chain*>> stale;
    const netfilter::Ruleset::Chains* nat = observed_.rules.table("nat");
    if (nat == nullptr) return stale;
    for (const auto& [name, chain] : *nat) {
      if (const auto id = parse_chain(name)) stale.emplace_back(*id, &chain);
    }
    std::sort(stale.begin(), stale.end());
    return stale;
  }

  void remove_chains() {
    const auto stale = find_stale_chains();
    const bool many = is_batched() && stale.size() > kChainsPerRemoval;
    if (many) session_.send(std::exchange(input_, {}));
    std::size_t count = 0;
    for (const auto& [id, chain] : stale) {
      if (!observed_.held.contains("nat " + name(id))) {
        remove_chain(id, input_);
      } else if (chain->rule_count != 0) {
        input_.declare(Table::kNat, name(id));  // a foreign rule references it: only empty it
      }
      if (many && ++count % kChainsPerRemoval == 0) session_.send(std::exchange(input_, {}));
    }
  }

  // A failure is only logged: with nf_tables only administrators use this chain.
  void write_mangle_canary() {
    state_.mangle_canary = true;
    if (observed_.chain(Table::kMangle, kCanary)) return;
    netfilter::RestoreInput canary;
    canary.declare(Table::kMangle, kCanary);
    try {
      session_.send(canary);
    } catch (const sdk::Failure& why) {
      state_.mangle_canary = false;
      context_.log.warning(log_id::kCanaryFailed,
                           std::string("make the chain KUBE-PROXY-CANARY in table mangle: ") + why.what());
    }
  }

  netfilter::KernelSession& session_;
  const ApplyContext& context_;
  Observed observed_;
  PresentRules present_;
  State before_;
  State state_;
  std::vector<Pending> pending_;
  netfilter::Canonicaliser canonicaliser_;
  netfilter::RestoreInput input_;
  // For a takeover:
  netfilter::RestoreInput last_;
  std::vector<std::pair<std::string, std::string>> in_order_;  // keys of service ports in state_, and printed names
};

}  // namespace

State apply_full(netfilter::KernelSession& session, const ApplyContext& context, const abi::Transaction& transaction,
                 StaticPlan fixed, State before) {
  FullSync sync(session, context, std::move(fixed), std::move(before));
  sync.write_fixed();
  for (const abi::ServicePort& port : sdk::range<abi::ServicePort>(transaction.service_ports)) {
    session.kernel().deadline().check();
    sync.write_service_port(port);
  }
  return sync.finish();
}

}  // namespace sluice::iptables
