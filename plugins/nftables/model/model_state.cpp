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
  state.has_chain = plan.service_class.has_value();
  state.firewalled = plan.firewalled;
  state.fallback = plan.fallback;
  if (plan.service_class) state.kind = plan.service_class->kind;
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

void Model::State::put(const PortId& id, ServicePlan plan) {
  std::vector<EndpointAddress> endpoints;
  if (plan.affinity_seconds != 0) {
    std::set_union(plan.cluster.begin(), plan.cluster.end(), plan.local.begin(), plan.local.end(),
                   std::back_inserter(endpoints));
  }
  static_assert(kClusterSlots + kMaxAffinityNumber <= kLocalSlots);
  if (std::max({plan.cluster.size(), plan.local.size(), endpoints.size()}) > kMaxAffinityNumber) {
    throw sdk::Failure(abi::Code::kInvalid, plan.name,
                       "it has more than 65535 endpoints, which is more than one Service can have here; divide them among "
                       "several Services");
  }
  ServiceState next;
  next.name = id.first;
  next.name.shrink_to_fit();
  next.protocol = id.second;
  next.exists = true;
  next.affinity_seconds = plan.affinity_seconds;
  next.frontends.reserve(plan.frontends.size());
  for (const FrontendPlan& frontend : plan.frontends) next.frontends.push_back(frontend_state(frontend));
  const std::optional<Place> there = find(id);
  const ServiceState* const before = there ? &services[*there] : nullptr;
  Known known;
  if (listed && (before == nullptr || before->frontends.empty())) known = known_of(next, endpoints);
  const bool has_id = (before != nullptr && before->affinity) || known.affinity_id;
  if (plan.affinity_seconds != 0 && !has_id && !affinity_ids.has_new()) {
    without_id[id] = std::move(plan);
    return;
  }
  without_id.erase(id);
  if (!plan.allowed.empty()) next.allowed = std::make_unique<std::vector<abi::Prefix>>(std::move(plan.allowed));
  const Place place = there ? *there : add(id);
  number_endpoints(services[place], known, plan, endpoints, next);
  claim(place, next);
  replace(place, std::move(next));
}

Model::Unserved Model::State::settle() {
  Unserved unserved;
  affinity_ids.stop_reserving();
  std::vector<PortId> waiting_for_id;
  for (const auto& [id, plan] : without_id) {
    if (plan) waiting_for_id.push_back(id);
  }
  for (const PortId& id : waiting_for_id) {
    put(id, ServicePlan(*without_id.at(id)));
    if (!without_id.contains(id)) continue;
    remove(id);
    without_id.emplace(id, std::nullopt);
    unserved.without_ids.push_back(id);
  }
  for (const Place place : std::exchange(lacking, {})) {
    const ServiceState& service = services[place];
    for (const FrontendState& frontend : service.frontends) {
      if (frontend.owned) continue;
      const FrontendKey key = service.key(frontend);
      unserved.conflicts.push_back({key, services[*owner_of(key)].name, service.name});
    }
  }
  std::stable_sort(unserved.conflicts.begin(), unserved.conflicts.end(),
                   [](const Conflict& a, const Conflict& b) { return a.loser < b.loser; });
  return unserved;
}

void Model::State::remove(const PortId& id) {
  without_id.erase(id);
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

Model::State::Known Model::State::known_of(const ServiceState& next,
                                           const std::vector<EndpointAddress>& endpoints) const {
  Known known;
  const std::string comment = element_comment(next.name);
  for (const FrontendState& frontend : next.frontends) {
    const FrontendKey key = next.key(frontend);
    if (listed->ownership(key, comment) != ListedNumbers::Ownership::kOtherServicePort) known.frontends.push_back(key);
  }
  if (next.affinity_seconds != 0) {
    known.affinity_id =
        listed->affinity_id(known.frontends, endpoints, [this](std::uint32_t id) { return affinity_ids.is_free(id); });
  }
  return known;
}

// Assigns slots, and with session affinity an id and tokens. Keeps those of `before`, or else of the kernel.
void Model::State::number_endpoints(const ServiceState& before, const Known& known, ServicePlan& plan,
                                    const std::vector<EndpointAddress>& endpoints, ServiceState& next) {
  std::vector<EndpointAddress> cluster(before.cluster_list(), before.cluster_list() + before.cluster);
  std::vector<EndpointAddress> local(before.local_list(), before.local_list() + before.local);
  if (listed && before.frontends.empty()) {
    cluster = listed->order(known.frontends, known.affinity_id, false, plan.cluster.size());
    local = listed->order(known.frontends, known.affinity_id, true, plan.local.size());
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
  } else if (known.affinity_id) {
    next.affinity->id = *known.affinity_id;
    affinity_ids.take(*known.affinity_id);
    next.affinity->tokens.restore(listed->tokens(*known.affinity_id));
  } else {
    next.affinity->id = affinity_ids.take_new();
  }
  next.affinity->tokens.assign(endpoints);
}

// Decides which frontends the service port gets.
void Model::State::claim(Place place, ServiceState& next) {
  for (FrontendState& frontend : next.frontends) {
    const FrontendKey key = next.key(frontend);
    const std::optional<Place> owner = owner_of(key);
    if (owner && *owner != place) {
      const bool had_it =
          listed && listed->ownership(key, element_comment(next.name)) == ListedNumbers::Ownership::kThisServicePort;
      if (!had_it) {
        lacking.insert(place);
        continue;
      }
      lacking.insert(*owner);
      take_from(*owner, key);
    }
    frontend.owned = true;
    if (!owner || *owner != place) owners.insert(hash(key), place);
  }
}

// Only while loading, if a comment in the kernel names another service port.
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
  // Acquire the new chains first, so that shared chains do not lose their last user.
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
  const auto record_if = [&](bool changes, auto&& record) {
    if (changes && !loading) record(pending.owner(after.name));
  };
  shared_elements(options.family, after, [&](const Record& record) {
    record_if(shared.add(record), [&](Owner owner) { pending.added(record, owner); });
  });
  shared_elements(options.family, before, [&](const Record& record) {
    record_if(shared.remove(record), [&](Owner owner) { pending.removed(record, owner); });
  });
}

// Gives a frontend to the first waiting service port by name.
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
  if (frontend.has_chain) frontend.chain = chains.acquire(service.service_class(frontend));
  if (frontend.firewalled) frontend.firewall = chains.acquire(*service.allowed);
}

void Model::State::release_chains(const FrontendState& frontend) {
  if (frontend.has_chain) chains.release(false, frontend.chain);
  if (frontend.firewalled) chains.release(true, frontend.firewall);
}

}  // namespace sluice::nftables
