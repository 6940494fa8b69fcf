// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "plugins/iptables/apply.hpp"
#include "plugins/iptables/service_writer.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::iptables {
namespace {

std::string key_of(const abi::ServicePortKey& key) {
  return hash_input(sdk::service_port_name(key), sdk::protocol_name(key.protocol));
}

// A service port as it was written last; what nobody takes is to go.
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
  DeltaSync(KernelSession& session, const ApplyContext& context, State& state)
      : session_(session), context_(context), state_(state) {}

  void remove(const abi::ServicePortKey& service_port) {
    const std::string key = key_of(service_port);
    if (!state_.services().contains(key)) return;
    input_.set_owner(sdk::service_port_name(service_port));
    PresentService(state_.take(key)).remove_rest(input_);
    end_of_service();
  }

  void change(const abi::ServicePort& port) {
    const std::string key = key_of(port.key);
    const std::string name = sdk::service_port_name(port.key);
    input_.set_owner(name);
    PresentService present(state_.take(key));
    try {
      state_.put(key, write_service(plan_service(port, context_.facts), present, canonicaliser_, input_));
    } catch (const sdk::Failure& why) {
      context_.on_left_out(name, why);
    }
    present.remove_rest(input_);
    end_of_service();
  }

  // The old rules go and the new ones come behind everything else, in one restore.
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

  void send() { session_.send(std::exchange(input_, {})); }

 private:
  void end_of_service() {
    if (input_.lines() >= context_.batch) send();
  }

  KernelSession& session_;
  const ApplyContext& context_;
  State& state_;
  netfilter::Canonicaliser canonicaliser_;
  netfilter::RestoreInput input_;
};

}  // namespace

void apply_delta(KernelSession& session, const ApplyContext& context, const abi::Transaction& transaction,
                 std::vector<std::string> tail, State& state) {
  DeltaSync sync(session, context, state);
  for (const abi::ServicePortKey& key : sdk::range<abi::ServicePortKey>(transaction.removed)) sync.remove(key);
  for (const abi::ServicePort& port : sdk::range<abi::ServicePort>(transaction.service_ports)) sync.change(port);
  sync.change_tail(std::move(tail));
  sync.send();
}

}  // namespace sluice::iptables
