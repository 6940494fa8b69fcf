// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/model/model.hpp"

#include <algorithm>

#include "lib/text.hpp"
#include "plugins/nftables/model/describe.hpp"
#include "plugins/nftables/model/model_state.hpp"

namespace sluice::nftables {

Model::Model(Options options) : state_(std::make_unique<State>(options)) {}

Model::~Model() = default;

void Model::start_over(const Listing* listing) {
  Options options = state_->options;
  options.last_affinity_id = state_->affinity_ids.last();
  state_ = std::make_unique<State>(options);
  state_->loading = true;
  state_->chains.start_over(listing);
  if (listing == nullptr) return;
  state_->listed = std::make_unique<ListedNumbers>(state_->options.family, *listing);
  state_->affinity_ids.reserve(state_->listed->affinity_ids());
}

void Model::put(const PortId& id, ServicePlan plan) { state_->put(id, std::move(plan)); }

void Model::remove(const PortId& id) { state_->remove(id); }

Model::Unserved Model::settle() { return state_->settle(); }

bool Model::has_ids_again() const { return !state_->without_id.empty() && state_->affinity_ids.has_new(); }

std::optional<std::string_view> Model::owner(const FrontendKey& frontend) const {
  const auto place = state_->owner_of(frontend);
  if (!place) return std::nullopt;
  return state_->services[*place].name;
}

std::vector<PortId> Model::take_gained() {
  std::vector<PortId> gained = std::move(state_->gained);
  state_->gained.clear();
  lib::sort_unique(gained);
  std::erase_if(gained, [this](const PortId& id) { return !state_->find(id); });
  return gained;
}

Changes Model::take_changes() {
  Changes changes;
  state_->pending.take(changes);
  changes.chains = state_->chains.unwritten();
  state_->loading = false;
  state_->listed.reset();
  state_->chains.forget_listing();
  return changes;
}

void Model::walk(const PortId& id, const Sink& sink) const {
  const auto place = state_->find(id);
  if (!place) return;
  const ServiceState& service = state_->services[*place];
  const std::string comment = element_comment(service.name);
  own_elements(state_->options.family, state_->options.counters, service, [&](const Record& record) {
    sink(record, is_commented(record.set) ? std::string_view(comment) : std::string_view());
  });
  shared_elements(state_->options.family, service, [&](const Record& record) { sink(record, {}); });
}

std::vector<PortId> Model::ids() const {
  std::vector<PortId> ids;
  ids.reserve(size());
  for (const ServiceState& service : state_->services) {
    if (service.exists) ids.emplace_back(service.name, service.protocol);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::size_t Model::size() const noexcept { return state_->by_id.size(); }

std::size_t Model::elements() const noexcept { return state_->own + state_->shared.size(); }

const std::vector<SharedChain>& Model::chains() const { return state_->chains.chains(); }

void Model::wrote(const std::vector<SharedChain>& chains) { state_->chains.wrote(chains); }

void Model::removed(const std::vector<SharedChain>& chains) { state_->chains.removed(chains); }

void Model::each_sticky(const std::function<void(const Sticky&)>& take) const {
  for (const ServiceState& service : state_->services) {
    if (!service.exists || !service.affinity) continue;
    const AffinityState& affinity = *service.affinity;
    take({service.name, service.protocol, affinity.id, service.affinity_seconds, affinity.tokens.entries()});
  }
}

void Model::describe(const PortId& id, const std::function<void(const std::string&)>& line) const {
  const auto place = state_->find(id);
  if (!place) return;
  const ServiceState& service = state_->services[*place];
  const auto owner_of = [&](const FrontendState& frontend) {
    const auto owner = state_->owner_of(service.key(frontend));
    return owner ? state_->services[*owner].name : std::string("another Service");
  };
  describe_service(state_->options.family, service, owner_of, line);
}

}  // namespace sluice::nftables
