// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What is behind Model: the service ports, who has which frontend, and the numbers. Pure.
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
#include "plugins/nftables/model/chain_book.hpp"
#include "plugins/nftables/model/counted_elements.hpp"
#include "plugins/nftables/model/flat_index.hpp"
#include "plugins/nftables/model/model.hpp"
#include "plugins/nftables/model/pending.hpp"
#include "plugins/nftables/model/seen.hpp"
#include "plugins/nftables/model/service_state.hpp"

namespace sluice::nftables {

struct Model::State {
  using Place = std::uint32_t;  // in services

  explicit State(Options given) : options(given), affinity_ids(given.affinity_ids, given.last_affinity_id) {}

  Options options;
  ChainBook chains;
  AffinityIds affinity_ids;
  CountedElements shared;
  Pending pending;
  std::deque<ServiceState> services;      // no room is kept for more
  std::vector<Place> free;
  FlatIndex by_id;
  FlatIndex owners;                       // of frontends
  std::map<Key, std::set<Place>> waiting;  // those that want a frontend somebody else has
  std::vector<PortId> gained;
  std::set<Place> lacking;                // since settle(): those that did not get a frontend at first
  std::map<PortId, std::optional<ServicePlan>> without_id;  // no number for affinity; the plan until settle()
  std::size_t own = 0;                    // elements that are of one service port
  bool loading = false;                   // nothing goes into `pending`
  std::unique_ptr<Seen> seen;             // only while loading

  std::optional<Place> find(const PortId& id) const;
  PortId id_of(Place place) const { return {services[place].name, services[place].protocol}; }
  void put(const PortId& id, ServicePlan plan);
  void remove(const PortId& id);
  Unserved settle();
  // The owner of that frontend.
  std::optional<Place> owner_of(const FrontendKey& key) const;

 private:
  // Elements of a service port before and after something happens to it.
  class Difference {
   public:
    Difference(State& state, Place place);
    void finish();  // tells `pending` and counts

   private:
    std::vector<Record> elements() const;
    std::size_t count() const;
    State& state_;
    Place place_;
    std::size_t count_before_ = 0;
    std::vector<Record> before_;  // not while loading
  };

  // What the kernel has of a service port, while loading.
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
