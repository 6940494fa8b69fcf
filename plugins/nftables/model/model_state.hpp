// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Implementation of Model: the service ports, the owners of frontends, and the numbers. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/nftables/model/affinity.hpp"
#include "plugins/nftables/model/chain_registry.hpp"
#include "plugins/nftables/model/counted_elements.hpp"
#include "plugins/nftables/model/flat_index.hpp"
#include "plugins/nftables/model/listed_numbers.hpp"
#include "plugins/nftables/model/model.hpp"
#include "plugins/nftables/model/pending.hpp"
#include "plugins/nftables/model/service_state.hpp"

namespace sluice::nftables {

struct Model::State {
  using Place = std::uint32_t;  // index into services

  explicit State(Options given) : options(given), affinity_ids(given.affinity_ids, given.last_affinity_id) {}

  Options options;
  ChainRegistry chains;
  AffinityIds affinity_ids;
  CountedElements shared;
  Pending pending;
  std::deque<ServiceState> services;  // a deque keeps no spare capacity
  std::vector<Place> free;
  FlatIndex by_id;
  FlatIndex owners;                       // of frontends
  std::map<Key, std::set<Place>> waiting;  // service ports that want a frontend of another one
  std::vector<PortId> gained;
  std::set<Place> lacking;  // since settle(): service ports that did not get a frontend at first
  std::map<PortId, std::optional<ServicePlan>> without_id;  // without affinity id; the plan until settle()
  std::size_t own = 0;                                      // elements that are not shared
  bool loading = false;                                     // `pending` is not used
  std::unique_ptr<ListedNumbers> listed;                    // only while loading

  std::optional<Place> find(const PortId& id) const;
  PortId id_of(Place place) const { return {services[place].name, services[place].protocol}; }
  void put(const PortId& id, ServicePlan plan);
  void remove(const PortId& id);
  Unserved settle();
  // The owner of that frontend.
  std::optional<Place> owner_of(const FrontendKey& key) const;

 private:
  // The elements of a service port before and after a change.
  class Difference {
   public:
    Difference(State& state, Place place);
    void finish();  // records the difference in `pending`, and counts

   private:
    std::vector<Record> elements() const;
    std::size_t count() const;
    State& state_;
    Place place_;
    std::size_t count_before_ = 0;
    std::vector<Record> before_;  // not while loading
  };

  // What the kernel has for a service port, while loading.
  struct Known {
    std::vector<FrontendKey> frontends;
    std::optional<std::uint32_t> affinity_id;
  };

  Known known_of(const ServiceState& next, const std::vector<EndpointAddress>& endpoints) const;
  Place add(const PortId& id);
  void number_endpoints(const ServiceState& before, const Known& known, ServicePlan& plan,
                        const std::vector<EndpointAddress>& endpoints, ServiceState& next);
  void claim(Place place, ServiceState& next);
  void take_from(Place owner, const FrontendKey& key);
  void give(const FrontendKey& key);
  void replace(Place place, ServiceState next);
  void share(const ServiceState& before, const ServiceState& after);
  void acquire_chains(const ServiceState& service, FrontendState& frontend);
  void release_chains(const FrontendState& frontend);
  void stop_waiting(const FrontendKey& key, Place place);
  std::uint64_t hash(const FrontendKey& key) const;
};

}  // namespace sluice::nftables
