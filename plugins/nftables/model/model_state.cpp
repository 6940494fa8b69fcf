// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/model/model_state.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "plugins/nftables/model/slots.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::nftables {
namespace {

std::uint64_t hash_id(const PortId& id) {
  return hash_bytes(id.first.data(), id.first.size(), static_cast<std::uint8_t>(id.second));
}

FrontendState* find_frontend(ServiceState& service, const FrontendKey& key) {
  for (FrontendState& frontend : service.frontends) {
    if (frontend.port == key.port && frontend.node_port == key.node_port && service.protocol == key.protocol &&
        std::memcmp(frontend.address.bytes, key.address.bytes, sizeof(key.address.bytes)) == 0) {
      return &frontend;
    }
  }
  return nullptr;
}

const FrontendState* find_frontend(const ServiceState& service, const FrontendKey& key) {
  return find_frontend(const_cast<ServiceState&>(service), key);
}

FrontendState frontend_state(const FrontendPlan& plan) {
  FrontendState state;
  state.address = plan.key.address;
  state.port = plan.key.port;
  state.node_port = plan.key.node_port;
  state.cluster_ip = plan.cluster_ip;
  state.treated = plan.treatment.has_value();
  state.firewalled = plan.firewalled;
  state.without = plan.without;
  if (plan.treatment) state.kind = plan.treatment->kind;
  return state;
}

}  // namespace

Model::State::Difference::Difference(State& state, Place place) : state_(state), place_(place) {
  if (state_.loading) {
    count_before_ = count();
  } else {
    before_ = elements();
    count_before_ = before_.size();
  }
}

std::size_t Model::State::Difference::count() const {
  std::size_t count = 0;
  own_elements(state_.options.family, state_.options.counters, state_.services[place_], [&](const Record&) { ++count; });
  return count;
}

std::vector<Record> Model::State::Difference::elements() const {
  std::vector<Record> records;
  own_elements(state_.options.family, state_.options.counters, state_.services[place_],
               [&](const Record& record) { records.push_back(record); });
  std::sort(records.begin(), records.end());
  return records;
}

void Model::State::Difference::finish() {
  if (state_.loading) {
    state_.own += count() - count_before_;
    return;
  }
  const std::vector<Record> after = elements();
  state_.own += after.size() - count_before_;
  if (before_ == after) return;
  const Owner owner = state_.pending.owner(state_.services[place_].name);
  const auto order = [](const Record& a, const Record& b) {
    return a.set != b.set ? a.set <=> b.set : a.key <=> b.key;
  };
  auto old = before_.begin();
  auto now = after.begin();
  while (old != before_.end() || now != after.end()) {
    const auto which = old == before_.end()  ? std::strong_ordering::greater
                       : now == after.end() ? std::strong_ordering::less
                                            : order(*old, *now);
    if (which == 0 && *old == *now) {
      ++old;
      ++now;
      continue;
    }
    if (which <= 0) state_.pending.removed(*old++, owner);
    if (which >= 0) state_.pending.added(*now++, owner);
  }
}

std::uint64_t Model::State::hash(const FrontendKey& key) const {
  const std::uint64_t seed = std::uint64_t{key.node_port} << 32 | std::uint64_t{static_cast<std::uint8_t>(key.protocol)} << 16 |
                             key.port;
  return hash_bytes(key.address.bytes, sizeof(key.address.bytes), seed);
}

std::optional<Model::State::Place> Model::State::find(const PortId& id) const {
  return by_id.find(hash_id(id), [&](Place place) {
    return services[place].protocol == id.second && services[place].name == id.first;
  });
}

std::optional<Model::State::Place> Model::State::owner_of(const FrontendKey& key) const {
  return owners.find(hash(key), [&](Place place) {
    const FrontendState* frontend = find_frontend(services[place], key);
    return frontend != nullptr && frontend->owned;
  });
}

void Model::State::check_numbers(const ServiceState* known, const ServicePlan& plan,
                                 const std::vector<EndpointAddress>& endpoints) const {
  if (plan.cluster.size() > kLocalSlots || plan.local.size() > kLocalSlots || endpoints.size() > kMaxAffinityNumber) {
    throw sdk::Failure(abi::Code::kInvalid, plan.name,
                       "it has more than 65535 endpoints, which is more than one Service can have here: it stays as it "
                       "was; divide them among several Services");
  }
  const bool has_id = known != nullptr && known->affinity;
  if (plan.affinity_seconds != 0 && !has_id && affinity_ids.is_full()) {
    throw sdk::Failure(abi::Code::kInvalid, plan.name,
                       "65535 other service ports have session affinity, and there is no number left for it: it stays as "
                       "it was; remove sessionAffinity from Services that do not need it");
  }
}

Model::State::Place Model::State::add(const PortId& id) {
  Place place = static_cast<Place>(services.size());
  if (free.empty()) {
    services.emplace_back();
  } else {
    place = free.back();
    free.pop_back();
  }
  services[place].name = id.first;
  services[place].name.shrink_to_fit();
  services[place].protocol = id.second;
  services[place].exists = true;
  by_id.insert(hash_id(id), place);
  return place;
}

std::vector<Model::Conflict> Model::State::put(const PortId& id, ServicePlan plan) {
  std::vector<EndpointAddress> endpoints;
  if (plan.affinity_seconds != 0) {
    std::set_union(plan.cluster.begin(), plan.cluster.end(), plan.local.begin(), plan.local.end(),
                   std::back_inserter(endpoints));
  }
  const std::optional<Place> known = find(id);
  check_numbers(known ? &services[*known] : nullptr, plan, endpoints);
  const Place place = known ? *known : add(id);
  ServiceState next;
  next.name = id.first;
  next.name.shrink_to_fit();
  next.protocol = id.second;
  next.exists = true;
  next.affinity_seconds = plan.affinity_seconds;
  if (!plan.allowed.empty()) next.allowed = std::make_unique<std::vector<abi::Prefix>>(std::move(plan.allowed));
  next.frontends.reserve(plan.frontends.size());
  for (const FrontendPlan& frontend : plan.frontends) next.frontends.push_back(frontend_state(frontend));
  number_endpoints(services[place], plan, endpoints, next);
  std::vector<Conflict> conflicts;
  claim(place, next, conflicts);
  replace(place, std::move(next));
  return conflicts;
}

void Model::State::remove(const PortId& id) {
  const std::optional<Place> place = find(id);
  if (!place) return;
  ServiceState nothing;
  nothing.name = id.first;
  nothing.protocol = id.second;
  replace(*place, std::move(nothing));
  by_id.erase(hash_id(id), *place);
  services[*place] = ServiceState();
  free.push_back(*place);
}

// Slots, and with affinity an id and tokens: as they are, or as the kernel has them.
void Model::State::number_endpoints(const ServiceState& before, ServicePlan& plan,
                                    const std::vector<EndpointAddress>& endpoints, ServiceState& next) {
  std::vector<EndpointAddress> cluster(before.cluster_list(), before.cluster_list() + before.cluster);
  std::vector<EndpointAddress> local(before.local_list(), before.local_list() + before.local);
  std::optional<std::uint32_t> seen_id;
  if (seen && before.frontends.empty()) {
    std::vector<FrontendKey> keys;
    const std::string comment = element_comment(next.name);
    for (const FrontendState& frontend : next.frontends) {
      const FrontendKey key = next.key(frontend);
      if (seen->whose(key, comment) != Seen::Whose::kAnothers) keys.push_back(key);
    }
    if (plan.affinity_seconds != 0) {
      seen_id = seen->affinity_id(keys, endpoints, [this](std::uint32_t id) { return affinity_ids.is_free(id); });
    }
    cluster = seen->order(keys, seen_id, false, plan.cluster.size());
    local = seen->order(keys, seen_id, true, plan.local.size());
  }
  cluster = assign_slots(cluster, plan.cluster);
  local = assign_slots(local, plan.local);
  next.cluster = static_cast<std::uint32_t>(cluster.size());
  next.local = static_cast<std::uint32_t>(local.size());
  next.endpoints.reserve(cluster.size() + local.size() + plan.hairpin.size());
  for (const auto* list : {&cluster, &local, &plan.hairpin}) {
    next.endpoints.insert(next.endpoints.end(), list->begin(), list->end());
  }
  if (plan.affinity_seconds == 0) return;
  next.affinity = std::make_unique<AffinityState>();
  if (before.affinity) {
    *next.affinity = *before.affinity;
  } else if (seen_id) {
    next.affinity->id = *seen_id;
    affinity_ids.take(*seen_id);
    next.affinity->tokens.restore(seen->tokens(*seen_id));
  } else {
    next.affinity->id = affinity_ids.take_new();
  }
  next.affinity->tokens.assign(endpoints);
}

// Which frontends it gets.
void Model::State::claim(Place place, ServiceState& next, std::vector<Conflict>& conflicts) {
  for (FrontendState& frontend : next.frontends) {
    const FrontendKey key = next.key(frontend);
    const std::optional<Place> owner = owner_of(key);
    if (owner && *owner != place) {
      const bool had_it = seen && seen->whose(key, element_comment(next.name)) == Seen::Whose::kMine;
      if (!had_it) {
        conflicts.push_back({key, services[*owner].name, next.name});
        continue;
      }
      conflicts.push_back({key, next.name, services[*owner].name});
      take_from(*owner, key);
    }
    frontend.owned = true;
    if (!owner || *owner != place) owners.insert(hash(key), place);
  }
}

// Only while loading: the kernel says whose it was.
void Model::State::take_from(Place owner, const FrontendKey& key) {
  Difference difference(*this, owner);
  FrontendState& frontend = *find_frontend(services[owner], key);
  release_chains(frontend);
  frontend.owned = false;
  owners.erase(hash(key), owner);
  waiting[frontend_key(options.family, key)].insert(owner);
  difference.finish();
}

void Model::State::replace(Place place, ServiceState next) {
  Difference difference(*this, place);
  // Chains that stay are not forgotten in between.
  for (FrontendState& frontend : next.frontends) {
    if (frontend.owned) acquire_chains(next, frontend);
  }
  const ServiceState before = std::exchange(services[place], std::move(next));
  const ServiceState& after = services[place];
  share(before, after);
  std::vector<FrontendKey> released;
  for (const FrontendState& frontend : before.frontends) {
    const FrontendKey key = before.key(frontend);
    if (!frontend.owned) {
      stop_waiting(key, place);
      continue;
    }
    release_chains(frontend);
    if (find_frontend(after, key) != nullptr) continue;
    owners.erase(hash(key), place);
    released.push_back(key);
  }
  for (const FrontendState& frontend : after.frontends) {
    if (!frontend.owned) waiting[frontend_key(options.family, after.key(frontend))].insert(place);
  }
  if (before.affinity && !after.affinity) affinity_ids.give_back(before.affinity->id);
  difference.finish();
  for (const FrontendKey& key : released) give(key);
}

void Model::State::share(const ServiceState& before, const ServiceState& after) {
  const auto told = [&](bool changes, auto&& tell) {
    if (changes && !loading) tell(pending.owner(after.name));
  };
  shared_elements(options.family, after, [&](const Record& record) {
    told(shared.add(record), [&](Owner owner) { pending.added(record, owner); });
  });
  shared_elements(options.family, before, [&](const Record& record) {
    told(shared.remove(record), [&](Owner owner) { pending.removed(record, owner); });
  });
}

// Of those that wait for it, the first in the order of names.
void Model::State::give(const FrontendKey& key) {
  const auto waiters = waiting.find(frontend_key(options.family, key));
  if (waiters == waiting.end()) return;
  const Place place = *std::min_element(waiters->second.begin(), waiters->second.end(),
                                        [this](Place a, Place b) { return id_of(a) < id_of(b); });
  Difference difference(*this, place);
  FrontendState& frontend = *find_frontend(services[place], key);
  frontend.owned = true;
  acquire_chains(services[place], frontend);
  owners.insert(hash(key), place);
  stop_waiting(key, place);
  gained.push_back(id_of(place));
  difference.finish();
}

void Model::State::stop_waiting(const FrontendKey& key, Place place) {
  const auto waiters = waiting.find(frontend_key(options.family, key));
  if (waiters == waiting.end()) return;
  waiters->second.erase(place);
  if (waiters->second.empty()) waiting.erase(waiters);
}

void Model::State::acquire_chains(const ServiceState& service, FrontendState& frontend) {
  if (frontend.treated) frontend.chain = chains.acquire(service.treatment(frontend));
  if (frontend.firewalled) frontend.firewall = chains.acquire(*service.allowed);
}

void Model::State::release_chains(const FrontendState& frontend) {
  if (frontend.treated) chains.release(false, frontend.chain);
  if (frontend.firewalled) chains.release(true, frontend.firewall);
}

}  // namespace sluice::nftables
