// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <utility>

#include "plugins/iptables/apply.hpp"
#include "plugins/iptables/observe.hpp"
#include "plugins/iptables/service_writer.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::iptables {
namespace {

// A service port as it was last written. Chains and rules that are not taken are removed.
class PresentService final : public Present {
 public:
  explicit PresentService(KnownService known) : known_(std::move(known)) {}

  std::optional<std::uint64_t> take_chain(const ChainId& chain) override {
    const auto found = std::find_if(known_.chains.begin(), known_.chains.end(),
                                    [&](const KnownChain& known) { return known.id == chain; });
    if (found == known_.chains.end()) return std::nullopt;
    const std::uint64_t content = found->content;
    known_.chains.erase(found);
    return content;
  }
  bool take_rule(SharedChain chain, std::uint64_t hash) override {
    const auto found = std::find_if(known_.shared.begin(), known_.shared.end(), [&](const KnownRule& known) {
      return known.chain == chain && known.rule.hash == hash;
    });
    if (found == known_.shared.end()) return false;
    known_.shared.erase(found);
    return true;
  }
  void remove_rest(netfilter::RestoreInput& input) {
    for (const KnownRule& known : known_.shared) {
      input.remove(table(known.chain), name(known.chain), known.rule.text);
    }
    std::stable_sort(known_.chains.begin(), known_.chains.end(),
                     [](const KnownChain& a, const KnownChain& b) { return a.id.kind < b.id.kind; });
    for (const KnownChain& known : known_.chains) remove_chain(known.id, input);
  }

 private:
  KnownService known_;
};

class DeltaSync {
 public:
  DeltaSync(netfilter::KernelSession& session, const ApplyContext& context, State& state)
      : session_(session), context_(context), state_(state) {}

  void remove(const abi::ServicePortKey& service_port) {
    Pending pending{hash_input(service_port), sdk::service_port_name(service_port), std::nullopt};
    const KnownService* known = state_.find(pending.key);
    if (known == nullptr) return;
    input_.set_owner(pending.name);
    PresentService(*known).remove_rest(input_);
    end_of_service(std::move(pending));
  }

  void change(const abi::ServicePort& port) {
    Pending pending{hash_input(port.key), sdk::service_port_name(port.key), std::nullopt};
    input_.set_owner(pending.name);
    const KnownService* known = state_.find(pending.key);
    PresentService present(known == nullptr ? KnownService() : *known);
    try {
      pending.wanted =
          write_service(plan_service(port, context_.facts, context_.choices), present, canonicaliser_, input_);
    } catch (const sdk::Failure& why) {
      context_.on_not_programmed(pending.name, why);
    }
    present.remove_rest(input_);
    end_of_service(std::move(pending));
  }

  // Deletes the old rules and appends the new ones in one restore.
  void change_tail(std::vector<std::string> tail) {
    std::vector<netfilter::Rule> wanted;
    for (std::string& text : tail) wanted.push_back({canonicaliser_.hash(text), std::move(text)});
    const bool same = std::is_permutation(wanted.begin(), wanted.end(), state_.tail.begin(), state_.tail.end(),
                                          [](const auto& a, const auto& b) { return a.hash == b.hash; });
    if (same) return;
    input_.set_owner({});
    const std::string_view chain = name(SharedChain::kNatServices);
    for (const netfilter::Rule& rule : state_.tail) input_.remove(Table::kNat, chain, rule.text);
    for (const netfilter::Rule& rule : wanted) input_.append(Table::kNat, chain, rule.text);
    state_.tail = std::move(wanted);
  }

  void send() {
    context_.submitter.send(std::exchange(input_, {}), [this](const netfilter::Refusal& refusal) { explain(refusal); });
    for (Pending& pending : std::exchange(pending_, {})) {
      if (context_.submitter.is_refused(pending.name)) continue;
      if (pending.wanted) {
        state_.put(pending.key, std::move(*pending.wanted));
      } else {
        state_.take(pending.key);
      }
    }
  }

 private:
  // A service port in the current input.
  struct Pending {
    std::string key;
    std::string name;
    std::optional<KnownService> wanted;  // empty: removed
  };

  void end_of_service(Pending pending) {
    pending_.push_back(std::move(pending));
    if (input_.lines() >= context_.batch) send();
  }

  // If another process has removed objects that the lines depend on, no service port is the cause.
  void explain(const netfilter::Refusal& refusal) {
    if (refusal.alone && !(refusal.line && refusal.line->removes())) return;
    const netfilter::Drift drift = find_drift(state_, observe(session_));
    if (!drift.empty()) throw sdk::Failure(abi::Code::kNeedFull, {}, drift.describe());
  }

  netfilter::KernelSession& session_;
  const ApplyContext& context_;
  State& state_;
  netfilter::Canonicaliser canonicaliser_;
  netfilter::RestoreInput input_;
  std::vector<Pending> pending_;
};

}  // namespace

std::size_t count_endpoints(const abi::Transaction& transaction, const State& state) {
  const bool delta = transaction.kind == abi::TransactionKind::kDelta;
  std::size_t count = delta ? state.totals().endpoints : 0;
  const auto forget = [&](const abi::ServicePortKey& key) {
    const KnownService* known = delta ? state.find(hash_input(key)) : nullptr;
    if (known != nullptr) count -= known->endpoints;
  };
  for (const abi::ServicePortKey& key : sdk::range<abi::ServicePortKey>(transaction.removed)) forget(key);
  for (const abi::ServicePort& port : sdk::range<abi::ServicePort>(transaction.service_ports)) {
    forget(port.key);
    count += port.endpoints.count;
  }
  return count;
}

void apply_delta(netfilter::KernelSession& session, const ApplyContext& context, const abi::Transaction& transaction,
                 std::vector<std::string> tail, State& state) {
  DeltaSync sync(session, context, state);
  for (const abi::ServicePortKey& key : sdk::range<abi::ServicePortKey>(transaction.removed)) sync.remove(key);
  for (const abi::ServicePort& port : sdk::range<abi::ServicePort>(transaction.service_ports)) sync.change(port);
  sync.change_tail(std::move(tail));
  sync.send();
}

}  // namespace sluice::iptables
