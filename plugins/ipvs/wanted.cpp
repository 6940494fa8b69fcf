// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/wanted.hpp"

#include <algorithm>
#include <tuple>

#include "plugins/common/address_hash.hpp"
#include "plugins/ipvs/frontends.hpp"

namespace sluice::ipvs {
namespace {

struct SetItemHash {
  std::size_t operator()(const SetItem& item) const noexcept {
    return SetEntryHash()(item.entry) * 31 + static_cast<std::size_t>(item.set);
  }
};

// Reference counts, and what came or went since the last take().
template <class T, class Hash = std::hash<T>>
class Counted {
 public:
  void add(const T& value) {
    const auto [place, fresh] = counts_.try_emplace(value, 0);
    if (fresh) touched_.try_emplace(value, false);
    ++place->second;
  }
  void release(const T& value) {
    const auto place = counts_.find(value);
    if (--place->second != 0) return;
    touched_.try_emplace(value, true);
    counts_.erase(place);
  }
  bool wants(const T& value) const { return counts_.contains(value); }
  void take(std::vector<T>& came, std::vector<T>& went) {
    for (const auto& [value, was] : touched_) {
      const bool is = wants(value);
      if (is && !was) came.push_back(value);
      if (was && !is) went.push_back(value);
    }
    touched_.clear();
  }
  std::vector<T> all() const {
    std::vector<T> out;
    out.reserve(counts_.size());
    for (const auto& [value, count] : counts_) out.push_back(value);
    std::sort(out.begin(), out.end());
    return out;
  }
  void clear() {
    counts_.clear();
    touched_.clear();
  }

 private:
  std::unordered_map<T, std::uint32_t, Hash> counts_;
  std::map<T, bool> touched_;  // whether it was wanted before
};

// Calls `f` for each real server: once per list, and as often as a list has an address.
template <class F>
void each_endpoint(const ServicePlan& plan, F f) {
  std::vector<const std::vector<RealServer>*> lists;  // usually two: all endpoints, and the local ones
  for (const WantedServer& one : plan.servers) {
    if (std::find(lists.begin(), lists.end(), one.real.get()) != lists.end()) continue;
    lists.push_back(one.real.get());
    for (const RealServer& real : *one.real) f(real.address);
  }
}

bool is_external(const ServicePlan& plan, const abi::Address& address) {
  return std::binary_search(plan.external.begin(), plan.external.end(), address);
}

// A service port that wants a virtual server. `id` points into the map of plans.
struct Claimant {
  bool node_port;
  const PortId* id;
  auto rank() const { return std::tie(node_port, *id); }
};

struct Claims {
  std::vector<Claimant> claimants;
  const PortId* holder = nullptr;  // one of `claimants`

  std::vector<Claimant>::iterator find(const PortId* id) {
    return std::find_if(claimants.begin(), claimants.end(), [&](const Claimant& one) { return one.id == id; });
  }
  // The service port that should have it; null without claimants.
  const PortId* best() {
    if (claimants.empty()) return nullptr;
    const auto first = std::min_element(claimants.begin(), claimants.end(),
                                        [](const Claimant& a, const Claimant& b) { return a.rank() < b.rank(); });
    const auto has = find(holder);
    return has != claimants.end() && has->node_port == first->node_port ? holder : first->id;
  }
};

}  // namespace

struct Wanted::State {
  std::map<PortId, ServicePlan> plans;
  Counted<SetItem, SetItemHash> items;
  Counted<abi::Address> addresses;
  std::unordered_map<ServerKey, Claims, ServerKeyHash> servers;
  std::map<ServerKey, bool> touched_servers;  // whether it was wanted before
  Counted<ServerKey, ServerKeyHash> closed;
  std::set<PortId> gained;
  std::unordered_map<abi::Address, std::uint32_t> endpoints;    // the number of plans that have each
  std::unordered_map<abi::Address, std::set<PortId>> external;  // the service ports that list each
  std::map<PortId, ServicePlan> complete;  // complete plans of those in `plans` that lack a withheld address
  std::set<PortId> affected;
  std::set<ServerKey> missing;  // of `servers`: not in the kernel

  Frontends frontends(const ServicePlan& plan) const {
    std::vector<ServerKey> some;
    for (auto one = plan.servers.begin(); !missing.empty() && one != plan.servers.end(); ++one) {
      if (missing.contains(one->server.key)) some.push_back(one->server.key);
    }
    return {plan, std::move(some)};
  }

  void count(const ServicePlan& plan) {
    const Frontends there = frontends(plan);
    for (const SetItem& item : plan.items) {
      if (there.has(item)) items.add(item);
    }
    for (const abi::Address& address : plan.addresses) {
      if (there.has(address)) addresses.add(address);
    }
    for (const ServerKey& key : plan.closed) {
      if (there.has(key)) closed.add(key);
    }
  }
  void discount(const ServicePlan& plan) {
    const Frontends there = frontends(plan);
    for (const SetItem& item : plan.items) {
      if (there.has(item)) items.release(item);
    }
    for (const abi::Address& address : plan.addresses) {
      if (there.has(address)) addresses.release(address);
    }
    for (const ServerKey& key : plan.closed) {
      if (there.has(key)) closed.release(key);
    }
  }

  const ServicePlan& complete_plan(const PortId& id) const {
    const auto found = complete.find(id);
    return found != complete.end() ? found->second : plans.at(id);
  }

  // Replaces the addresses that the service port lists; `now` null: none.
  void list(const PortId& id, const ServicePlan* before, const ServicePlan* now) {
    if (now != nullptr) {
      each_endpoint(*now, [this](const abi::Address& address) {
        if (++endpoints[address] == 1) note_affected(address);
      });
      for (const abi::Address& address : now->external) external[address].insert(id);
    }
    if (before == nullptr) return;
    each_endpoint(*before, [this](const abi::Address& address) {
      const auto place = endpoints.find(address);
      if (--place->second != 0) return;
      endpoints.erase(place);
      note_affected(address);
    });
    for (const abi::Address& address : before->external) {
      const bool stays = now != nullptr && is_external(*now, address);
      const auto place = external.find(address);
      if (stays || place == external.end()) continue;
      place->second.erase(id);
      if (place->second.empty()) external.erase(place);
    }
  }
  void note_affected(const abi::Address& address) {
    if (const auto found = external.find(address); found != external.end()) {
      affected.insert(found->second.begin(), found->second.end());
    }
  }

  // Removes withheld addresses from the plan; if there are any, keeps a copy of the complete plan.
  void withhold(const PortId& id, ServicePlan& plan) {
    complete.erase(id);
    const bool any = std::any_of(plan.external.begin(), plan.external.end(),
                                 [this](const abi::Address& address) { return endpoints.contains(address); });
    if (!any) return;
    const ServicePlan& kept = complete.emplace(id, plan).first->second;
    ipvs::remove_frontends(
        plan, [&](const ServerKey& key) { return endpoints.contains(key.address) && is_external(kept, key.address); });
  }

  void touch(const ServerKey& key) { touched_servers.try_emplace(key, servers.contains(key)); }

  void claim(const ServerKey& key, const PortId* id, bool node_port, std::vector<Conflict>& conflicts) {
    touch(key);
    Claims& claims = servers[key];
    const auto mine = claims.find(id);
    if (mine != claims.claimants.end()) {
      mine->node_port = node_port;
    } else {
      claims.claimants.push_back({node_port, id});
    }
    const PortId* const before = claims.holder;
    assign_holder(claims, id);
    if (claims.holder != id) {
      conflicts.push_back({key, claims.holder->first, id->first});
    } else if (before != nullptr && before != id) {
      conflicts.push_back({key, id->first, before->first});
    }
  }

  void release(const ServerKey& key, const PortId* id) {
    touch(key);
    const auto place = servers.find(key);
    Claims& claims = place->second;
    claims.claimants.erase(claims.find(id));
    assign_holder(claims, id);
    if (claims.holder != nullptr) return;
    servers.erase(place);
    missing.erase(key);
  }

  // `asking` is the service port whose plan changed.
  void assign_holder(Claims& claims, const PortId* asking) {
    const PortId* const best = claims.best();
    if (best == claims.holder) return;
    claims.holder = best;
    if (best != nullptr && best != asking) gained.insert(*best);
  }

  const WantedServer& server(const ServerKey& key, const Claims& claims) const {
    const std::vector<WantedServer>& all = plans.at(*claims.holder).servers;
    return *std::find_if(all.begin(), all.end(), [&](const WantedServer& one) { return one.server.key == key; });
  }
};

Wanted::Wanted() : state_(std::make_unique<State>()) {}
Wanted::~Wanted() = default;

std::vector<Wanted::Conflict> Wanted::put(const PortId& id, ServicePlan plan) {
  const auto [place, fresh] = state_->plans.try_emplace(id);
  const PortId* const name = &place->first;
  state_->list(id, fresh ? nullptr : &state_->complete_plan(id), &plan);
  state_->withhold(id, plan);
  const ServicePlan before = std::exchange(place->second, std::move(plan));
  const ServicePlan& now = place->second;
  state_->count(now);
  state_->discount(before);
  std::vector<Conflict> conflicts;
  std::set<ServerKey> kept;
  const std::size_t own = now.servers.size() - now.node_ports;
  for (std::size_t i = 0; i < now.servers.size(); ++i) {
    const ServerKey& key = now.servers[i].server.key;
    kept.insert(key);
    state_->claim(key, name, i >= own, conflicts);
  }
  for (const WantedServer& old : before.servers) {
    if (!kept.contains(old.server.key)) state_->release(old.server.key, name);
  }
  return conflicts;
}

std::vector<Wanted::Conflict> Wanted::put_again(const PortId& id) {
  return put(id, ServicePlan(state_->complete_plan(id)));
}

std::vector<abi::Address> Wanted::withheld(const PortId& id) const {
  const auto found = state_->complete.find(id);
  if (found == state_->complete.end()) return {};
  std::vector<abi::Address> out;
  for (const abi::Address& address : found->second.external) {
    if (state_->endpoints.contains(address)) out.push_back(address);
  }
  return out;
}

std::vector<PortId> Wanted::take_affected() {
  const std::set<PortId> taken = std::exchange(state_->affected, {});
  return {taken.begin(), taken.end()};
}

void Wanted::remove(const PortId& id) {
  const auto place = state_->plans.find(id);
  if (place == state_->plans.end()) return;
  state_->list(id, &state_->complete_plan(id), nullptr);
  state_->complete.erase(id);
  state_->affected.erase(id);
  state_->discount(place->second);
  for (const WantedServer& server : place->second.servers) state_->release(server.server.key, &place->first);
  state_->gained.erase(id);
  state_->plans.erase(place);
}

void Wanted::clear() {
  std::set<ServerKey> missing = std::move(state_->missing);
  std::erase_if(missing, [this](const ServerKey& key) { return !state_->servers.contains(key); });
  *state_ = State();
  state_->missing = std::move(missing);
}

void Wanted::note_put(const std::vector<WantedServer>& servers, const std::set<ServerKey>& missing) {
  std::vector<ServerKey> other;
  std::set<const PortId*> affected;
  for (const WantedServer& one : servers) {
    const ServerKey& key = one.server.key;
    const auto claims = state_->servers.find(key);
    if (claims == state_->servers.end() || missing.contains(key) == state_->missing.contains(key)) continue;
    other.push_back(key);
    for (const Claimant& claimant : claims->second.claimants) affected.insert(claimant.id);
  }
  for (const PortId* id : affected) state_->discount(state_->plans.at(*id));
  for (const ServerKey& key : other) {
    if (state_->missing.erase(key) == 0) state_->missing.insert(key);
  }
  for (const PortId* id : affected) state_->count(state_->plans.at(*id));
}

void Wanted::exclude(const std::set<ServerKey>& foreign) {
  std::set<PortId> affected;
  for (const ServerKey& key : foreign) {
    const auto claims = state_->servers.find(key);
    if (claims == state_->servers.end()) continue;
    for (const Claimant& claimant : claims->second.claimants) affected.insert(*claimant.id);
  }
  for (const PortId& id : affected) {
    ServicePlan plan = state_->complete_plan(id);
    ipvs::remove_frontends(plan, [&](const ServerKey& key) { return foreign.contains(key); });
    put(id, std::move(plan));
  }
}

Changes Wanted::take_changes() {
  Changes changes;
  state_->items.take(changes.add, changes.remove);
  state_->addresses.take(changes.bind, changes.unbind);
  for (const auto& [key, was] : std::exchange(state_->touched_servers, {})) {
    const auto place = state_->servers.find(key);
    if (place != state_->servers.end()) {
      changes.put.push_back(state_->server(key, place->second));
    } else if (was) {
      changes.drop.push_back(key);
    }
  }
  state_->closed.take(changes.close, changes.reopen);
  return changes;
}

Changes Wanted::everything() const {
  Changes changes;
  changes.add = state_->items.all();
  changes.bind = state_->addresses.all();
  changes.close = state_->closed.all();
  std::vector<ServerKey> keys;
  keys.reserve(state_->servers.size());
  for (const auto& [key, claims] : state_->servers) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  changes.put.reserve(keys.size());
  for (const ServerKey& key : keys) changes.put.push_back(state_->server(key, state_->servers.at(key)));
  return changes;
}

bool Wanted::wants(const SetItem& item) const { return state_->items.wants(item); }
bool Wanted::wants(const abi::Address& address) const { return state_->addresses.wants(address); }
bool Wanted::wants(const ServerKey& key) const { return state_->servers.contains(key); }
const PortId* Wanted::owner(const ServerKey& key) const {
  const auto found = state_->servers.find(key);
  return found == state_->servers.end() ? nullptr : found->second.holder;
}
bool Wanted::is_node_port(const ServerKey& key) const {
  const auto found = state_->servers.find(key);
  return found != state_->servers.end() && found->second.holder != nullptr &&
         std::any_of(found->second.claimants.begin(), found->second.claimants.end(),
                     [&](const Claimant& one) { return one.id == found->second.holder && one.node_port; });
}
std::set<ServerKey> Wanted::closed() const {
  const std::vector<ServerKey> all = state_->closed.all();
  return {all.begin(), all.end()};
}
const ServicePlan* Wanted::find(const PortId& id) const {
  const auto place = state_->plans.find(id);
  return place == state_->plans.end() ? nullptr : &place->second;
}
bool Wanted::is_served(const PortId& id) const {
  const ServicePlan* const plan = find(id);
  return plan != nullptr && std::any_of(plan->servers.begin(), plan->servers.end(), [this](const WantedServer& one) {
           return !state_->missing.contains(one.server.key);
         });
}
std::size_t Wanted::size() const noexcept { return state_->plans.size(); }

std::vector<PortId> Wanted::ids() const {
  std::vector<PortId> out;
  out.reserve(state_->plans.size());
  for (const auto& [id, plan] : state_->plans) out.push_back(id);
  return out;
}

std::map<std::pair<abi::Protocol, std::uint16_t>, std::string> Wanted::node_ports() const {
  std::map<std::pair<abi::Protocol, std::uint16_t>, std::string> out;
  for (const auto& [id, plan] : state_->plans) {
    if (plan.node_ports != 0) out.try_emplace({id.second, plan.servers.back().server.key.port}, id.first);
  }
  return out;
}

std::vector<PortId> Wanted::take_gained() {
  const std::set<PortId> taken = std::exchange(state_->gained, {});
  return {taken.begin(), taken.end()};
}

}  // namespace sluice::ipvs
