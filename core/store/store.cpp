// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/store/store.hpp"

#include <utility>

#include "core/base/log_messages.hpp"
#include "core/store/frontends.hpp"

namespace sluice::store {

void Store::apply(model::Event event) {
  const bool framing = std::holds_alternative<model::ListBegin>(event) || std::holds_alternative<model::ListEnd>(event);
  if (!framing) ++counters_.events;
  const bool changed = std::visit([this](auto& e) { return on(e); }, event);
  if (!framing && !changed) ++counters_.no_op;
}

void Store::set_options(StoreOptions options) {
  const StoreOptions before = std::exchange(options_, options);
  if (before.service_cidrs != options.service_cidrs) ++service_cidrs_version_;
  for (const auto& name : services_.serve_external_ips(options.external_ips)) note_frontends(name);
}

void Store::reserve(std::vector<lib::SocketAddress> addresses) {
  for (const auto& name : services_.reserve(std::move(addresses))) note_frontends(name);
}

Changes Store::take_changes(lib::Family family) {
  const auto i = lib::family_index(family);
  Changes out;
  out.dirty = std::exchange(dirty_[i], {});
  changed_namespaces_[i].clear();
  out.services = std::exchange(pending_services_[i], {});
  out.slices = std::exchange(pending_slice_changes_[i], 0);
  for (const model::ObjectName& name : out.dirty) {
    for (const auto at : slices_.take_trigger_times(name, family)) out.triggers.push_back({name.name_space, at});
  }
  return out;
}

std::unordered_set<model::ObjectName> Store::service_names(lib::Family family) const {
  std::unordered_set<model::ObjectName> out;
  for (auto& name : services_.names()) {
    if (has_service_ports(*services_.find(name), family)) out.insert(std::move(name));
  }
  return out;
}

std::vector<lib::IpPrefix> Store::service_cidrs(lib::Family family) const {
  const bool known = options_.service_cidrs && listed_[static_cast<std::size_t>(model::ResourceKind::service_cidr)];
  return known ? service_cidrs_.ranges(family) : std::vector<lib::IpPrefix>();
}

NodeView Store::node_view(const model::DetailsRequest& details) const {
  return {node_name_, node_ ? std::string_view(node_->zone) : std::string_view(), options_.external_ips, details};
}

std::vector<ServicePort> Store::resolve_service(const model::ObjectName& name, lib::Family family,
                                                const model::DetailsRequest& details) const {
  const model::Service* service = services_.find(name);
  return service == nullptr ? std::vector<ServicePort>()
                            : resolve(*service, family, slices_, node_view(details), &services_.claims());
}

std::vector<ExplainedPort> Store::explain_service(const model::ObjectName& name, lib::Family family,
                                                  const model::DetailsRequest& details) const {
  const model::Service* service = services_.find(name);
  return service == nullptr ? std::vector<ExplainedPort>()
                            : explain(*service, family, slices_, node_view(details), &services_.claims());
}

bool Store::on(const model::ListBegin& event) {
  switch (event.kind) {
    case model::ResourceKind::service: services_.begin_list(); break;
    case model::ResourceKind::endpoint_slice: slices_.begin_list(); break;
    case model::ResourceKind::node:
      node_in_list_ = false;
      break;
    case model::ResourceKind::service_cidr: service_cidrs_.begin_list(); break;
  }
  return false;
}

bool Store::on(const model::ListEnd& event) {
  bool changed = false;
  switch (event.kind) {
    case model::ResourceKind::service:
      for (const auto& [name, change] : services_.end_list()) {
        ++counters_.service_events;
        changed = note(name, change) || changed;
      }
      break;
    case model::ResourceKind::endpoint_slice: changed = note_removal(slices_.end_list()); break;
    case model::ResourceKind::node:
      if (!node_in_list_ && !listed_[static_cast<std::size_t>(event.kind)] && !node_name_.empty()) {
        base::log(base::message::kNodeUnknown,
                  "no Node object named " + node_name_ +
                      ": its zone and addresses are unknown; if the name is wrong, set "
                      "--hostname-override",
                  {{"node", node_name_}});
      }
      break;
    case model::ResourceKind::service_cidr: {
      const bool first = !listed_[static_cast<std::size_t>(event.kind)];  // service_cidrs() was empty so far
      changed = note_service_cidrs(service_cidrs_.end_list() || first);
      break;
    }
  }
  listed_[static_cast<std::size_t>(event.kind)] = true;
  details_[static_cast<std::size_t>(event.kind)] = event.details;
  return changed;
}

bool Store::on(model::Upsert& event) {
  if (auto* service = std::get_if<model::Service>(&event.object)) {
    const model::ObjectName name = service->name;
    ++counters_.service_events;
    return note(name, services_.upsert(std::move(*service)));
  }
  if (auto* slice = std::get_if<model::EndpointSlice>(&event.object)) {
    ++counters_.slice_events[lib::family_index(slice->family)];
    return note(slices_.upsert(std::move(*slice)));
  }
  if (auto* service_cidr = std::get_if<model::ServiceCidr>(&event.object)) {
    return note_service_cidrs(service_cidrs_.upsert(std::move(*service_cidr)));
  }
  auto& node = std::get<model::Node>(event.object);
  if (node.name != node_name_) return false;
  node_in_list_ = true;
  return set_node(std::move(node));
}

bool Store::on(const model::Remove& event) {
  switch (event.kind) {
    case model::ResourceKind::service: ++counters_.service_events; return note(event.name, services_.remove(event.name));
    case model::ResourceKind::endpoint_slice: return note_removal(slices_.remove(event.name));
    // BEH 1.4: the last known state of a deleted Node is kept.
    case model::ResourceKind::node:
      if (event.name.name == node_name_) {
        base::log(base::message::kNodeDeleted,
                  "node " + node_name_ + " was deleted from the API server; keeping its last known zone and addresses",
                  {{"node", node_name_}});
      }
      return false;
    case model::ResourceKind::service_cidr: return note_service_cidrs(service_cidrs_.remove(event.name.name));
  }
  return false;
}

bool Store::on(const model::Unusable& event) {
  ++counters_.unusable;
  switch (event.kind) {
    case model::ResourceKind::service: services_.touch(event.name); break;
    case model::ResourceKind::endpoint_slice: slices_.touch(event.name); break;
    case model::ResourceKind::node:
      node_in_list_ = true;
      break;
    case model::ResourceKind::service_cidr: service_cidrs_.touch(event.name.name); break;
  }
  return false;
}

bool Store::note(const model::ObjectName& service, const ServiceTracker::Change& change) {
  for (const auto family : lib::kFamilies) {
    const auto i = lib::family_index(family);
    if (!change.changed || !change.family_affected[i]) continue;
    note_changed(service, i);
    pending_services_[i].insert(service);
  }
  for (const auto& other : change.affected) note_frontends(other);
  return change.changed;
}

// The Service gained or lost an address or port, but its own object has not changed.
void Store::note_frontends(const model::ObjectName& service) {
  const model::Service* known = services_.find(service);
  for (const auto family : lib::kFamilies) {
    if (known != nullptr && has_service_ports(*known, family)) dirty_[lib::family_index(family)].insert(service);
  }
}

void Store::note_changed(const model::ObjectName& service, std::size_t family) {
  dirty_[family].insert(service);
  changed_namespaces_[family].insert(service.name_space);
}

bool Store::note(const SliceCache::Affected& affected) {
  for (const auto& [service, family] : affected.services) {
    ++pending_slice_changes_[lib::family_index(family)];
    const model::Service* known = services_.find(service);
    if (known != nullptr && has_service_ports(*known, family)) note_changed(service, lib::family_index(family));
  }
  return !affected.services.empty();
}

bool Store::note_removal(const SliceCache::Affected& affected) {
  for (const auto& [service, family] : affected.services) ++counters_.slice_events[lib::family_index(family)];
  return note(affected);
}

bool Store::set_node(std::optional<model::Node> node) {
  if (node_ == node) return false;
  const bool zone_changed = (node_ ? node_->zone : std::string()) != node->zone;
  node_ = std::move(node);
  ++node_version_;
  if (zone_changed) {
    // Topology hints refer to this node's zone, so any Service may resolve differently.
    for (auto& name : services_.names()) {
      for (auto& dirty : dirty_) dirty.insert(name);
    }
  }
  return true;
}

bool Store::note_service_cidrs(bool changed) {
  if (!changed || !options_.service_cidrs) return false;
  ++service_cidrs_version_;
  return true;
}

}  // namespace sluice::store
