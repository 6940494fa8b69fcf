// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/store/service_tracker.hpp"

#include <algorithm>
#include <utility>

namespace sluice::store {
namespace {

ServiceTracker::Change change(const model::Service* before, const model::Service* after) {
  ServiceTracker::Change out;
  out.changed = true;
  for (const auto family : base::kFamilies) {
    out.family_affected[base::family_index(family)] = (before != nullptr && has_service_ports(*before, family)) ||
                                                      (after != nullptr && has_service_ports(*after, family));
  }
  return out;
}

}  // namespace

bool has_service_ports(const model::Service& service, base::Family family) {
  return service.type != model::ServiceType::external_name && !service.headless &&
         std::any_of(service.cluster_ips.begin(), service.cluster_ips.end(),
                     [&](const base::IpAddress& ip) { return ip.family() == family; });
}

std::string_view why_not_proxied(const model::Service& service, base::Family family) {
  if (service.type == model::ServiceType::external_name) return "its type is ExternalName: DNS alone answers for it";
  if (service.headless) return "it is headless: clients connect to its endpoints";
  if (!has_service_ports(service, family)) return "it has no cluster IP of this family";
  return service.ports.empty() ? "it has no ports" : "";
}

ServiceTracker::Change ServiceTracker::upsert(model::Service service) {
  const auto [it, added] = services_.try_emplace(service.name);
  Entry& entry = it->second;
  entry.epoch = epoch_;
  if (!added && entry.service == service) return {};
  const Change out = change(added ? nullptr : &entry.service, &service);
  entry.service = std::move(service);
  return out;
}

ServiceTracker::Change ServiceTracker::remove(const model::ObjectName& name) {
  const auto it = services_.find(name);
  if (it == services_.end()) return {};
  const Change out = change(&it->second.service, nullptr);
  services_.erase(it);
  return out;
}

void ServiceTracker::touch(const model::ObjectName& name) {
  if (const auto it = services_.find(name); it != services_.end()) it->second.epoch = epoch_;
}

std::vector<std::pair<model::ObjectName, ServiceTracker::Change>> ServiceTracker::end_list() {
  std::vector<model::ObjectName> gone;
  for (const auto& [name, entry] : services_) {
    if (entry.epoch != epoch_) gone.push_back(name);
  }
  std::vector<std::pair<model::ObjectName, Change>> out;
  out.reserve(gone.size());
  for (auto& name : gone) {
    const Change removed = remove(name);
    out.emplace_back(std::move(name), removed);
  }
  return out;
}

const model::Service* ServiceTracker::find(const model::ObjectName& name) const {
  const auto it = services_.find(name);
  return it == services_.end() ? nullptr : &it->second.service;
}

std::vector<model::ObjectName> ServiceTracker::names() const {
  std::vector<model::ObjectName> out;
  out.reserve(services_.size());
  for (const auto& [name, entry] : services_) out.push_back(name);
  return out;
}

}  // namespace sluice::store
