// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The state of the cluster (Services, EndpointSlices, this node's Node, ServiceCIDRs), and per family the names of
// Services whose service ports may have changed since the last take_changes(). An event that changes nothing is only
// counted. Used by the store thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/symbol.hpp"
#include "core/model/event.hpp"
#include "core/store/resolve.hpp"
#include "core/store/service_cidr_set.hpp"
#include "core/store/service_tracker.hpp"
#include "core/store/slice_cache.hpp"

namespace sluice::store {

struct StoreCounters {
  std::uint64_t events = 0;
  std::uint64_t no_op = 0;     // changed nothing that affects traffic
  std::uint64_t unusable = 0;  // invalid objects
  std::uint64_t service_events = 0;
  std::uint64_t slice_events[2] = {0, 0};  // by lib::family_index
};

struct StoreOptions {
  bool external_ips = true;  // false: spec.externalIPs are not served (BEH 1.2)
  bool service_cidrs = false;  // false: ServiceCIDRs are ignored
};

// The trigger time of a change, and its namespace.
struct Trigger {
  base::Symbol name_space;
  std::chrono::system_clock::time_point at;
};

// Changes in one family since the last take_changes().
struct Changes {
  std::unordered_set<model::ObjectName> dirty;     // Services that may resolve differently
  std::unordered_set<model::ObjectName> services;  // Services whose own object changed
  std::uint64_t slices = 0;                        // number of slice changes
  std::vector<Trigger> triggers;                   // of the slice changes
};

class Store {
 public:
  explicit Store(std::string node_name, StoreOptions options = {})
      : node_name_(std::move(node_name)), options_(options), services_(options.external_ips) {}

  void apply(model::Event event);

  // Services that resolve differently with the new options become dirty.
  void set_options(StoreOptions options);

  // Sets the addresses of the API server (TCP), sorted. No external IP may take them, because the daemon must still
  // reach the API server.
  void reserve(std::vector<lib::SocketAddress> addresses);

  // Whether every kind of object has been listed once, except ServiceCIDRs (BEH 1.5).
  bool synced() const { return listed_[0] && listed_[1] && listed_[2]; }

  // Whether ServiceCIDRs have been listed, if they are used.
  bool service_cidrs_known() const { return !options_.service_cidrs || listed_[3]; }

  // Whether Services of `family` may resolve differently since the last take_changes().
  bool has_dirty(lib::Family family) const { return !dirty_[lib::family_index(family)].empty(); }
  Changes take_changes(lib::Family family);
  // Namespaces of the objects that changed since the last take_changes() and affect Services. A Service that gains or
  // loses an address because another Service changed does not count.
  const model::Namespaces& changed_namespaces(lib::Family family) const {
    return changed_namespaces_[lib::family_index(family)];
  }
  // Services and number of slices that changed since the last take_changes().
  const std::unordered_set<model::ObjectName>& pending_services(lib::Family family) const {
    return pending_services_[lib::family_index(family)];
  }
  std::uint64_t pending_slice_changes(lib::Family family) const {
    return pending_slice_changes_[lib::family_index(family)];
  }
  // Services that have service ports in `family`.
  std::unordered_set<model::ObjectName> service_names(lib::Family family) const;

  // What the last list of this kind was decoded with; null: nothing.
  const model::WantedDetailsPtr& list_details(model::ResourceKind kind) const {
    return details_[static_cast<std::size_t>(kind)];
  }
  // Whether the objects were listed with what `request` asks for.
  bool has_details(const model::DetailsRequest& request) const {
    return model::covers(list_details(model::ResourceKind::service), list_details(model::ResourceKind::endpoint_slice),
                         request);
  }

  std::vector<ServicePort> resolve_service(const model::ObjectName& name, lib::Family family,
                                           const model::DetailsRequest& details = {}) const;

  // Like resolve_service(), with the reasons.
  std::vector<ExplainedPort> explain_service(const model::ObjectName& name, lib::Family family,
                                             const model::DetailsRequest& details = {}) const;
  // Null if there is no such Service.
  const model::Service* find_service(const model::ObjectName& name) const { return services_.find(name); }
  // The Service to which the address and port belongs; null if no Service lists it.
  const model::Service* frontend_holder(const FrontendClaims::Key& key) const { return services_.claims().holder(key); }
  // The names of all Services, unordered.
  std::vector<model::ObjectName> all_service_names() const { return services_.names(); }

  // The last known state of this node's Node object. `node_version` counts its changes.
  const std::optional<model::Node>& node() const { return node_; }
  std::uint64_t node_version() const { return node_version_; }

  // The ranges of cluster IPs, sorted, without ranges that are inside another. Empty if ServiceCIDRs are not used or
  // not listed yet. `service_cidrs_version` counts changes.
  std::vector<lib::IpPrefix> service_cidrs(lib::Family family) const;
  std::uint64_t service_cidrs_version() const { return service_cidrs_version_; }

  const StoreCounters& counters() const { return counters_; }
  std::size_t service_count() const { return services_.size(); }
  std::size_t slice_count() const { return slices_.slice_count(); }
  std::size_t endpoint_count() const { return slices_.endpoint_count(); }

 private:
  NodeView node_view(const model::DetailsRequest& details) const;
  bool on(const model::ListBegin& event);
  bool on(const model::ListEnd& event);
  bool on(model::Upsert& event);
  bool on(const model::Remove& event);
  bool on(const model::Unusable& event);

  bool note(const model::ObjectName& service, const ServiceTracker::Change& change);
  void note_frontends(const model::ObjectName& service);
  bool note(const SliceCache::Affected& affected);
  bool note_removal(const SliceCache::Affected& affected);
  void note_changed(const model::ObjectName& service, std::size_t family);
  bool set_node(std::optional<model::Node> node);
  bool note_service_cidrs(bool changed);

  std::string node_name_;
  StoreOptions options_;
  ServiceTracker services_;
  SliceCache slices_;
  std::optional<model::Node> node_;
  std::uint64_t node_version_ = 0;
  bool node_in_list_ = false;
  ServiceCidrSet service_cidrs_;
  std::uint64_t service_cidrs_version_ = 0;
  bool listed_[model::kResourceKinds.size()] = {};                 // by ResourceKind
  model::WantedDetailsPtr details_[model::kResourceKinds.size()] = {};  // by ResourceKind: of the last list
  std::unordered_set<model::ObjectName> dirty_[2];
  model::Namespaces changed_namespaces_[2];
  std::unordered_set<model::ObjectName> pending_services_[2];
  std::uint64_t pending_slice_changes_[2] = {0, 0};
  StoreCounters counters_;
};

}  // namespace sluice::store
