// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/store/service_tracker.hpp"

#include <utility>

#include "core/store/frontends.hpp"

namespace sluice::store {
namespace {

ServiceTracker::Change change(const model::Service* before, const model::Service* after) {
  ServiceTracker::Change out;
  out.changed = true;
  for (const auto family : lib::kFamilies) {
    out.family_affected[lib::family_index(family)] = (before != nullptr && has_service_ports(*before, family)) ||
                                                     (after != nullptr && has_service_ports(*after, family));
  }
  return out;
}

}  // namespace

ServiceTracker::Change ServiceTracker::upsert(model::Service service) {
  const auto [it, added] = services_.try_emplace(service.name);
  Entry& entry = it->second;
  entry.epoch = epoch_;
  if (!added && entry.service == service) return {};
  Change out = change(added ? nullptr : &entry.service, &service);
  const auto before = added ? FrontendClaims::Keys() : FrontendClaims::wanted(entry.service, external_ips_);
  const model::Service old = std::exchange(entry.service, std::move(service));
  claims_.change(entry.service, added ? nullptr : &old, before, FrontendClaims::wanted(entry.service, external_ips_),
                 out.affected);
  return out;
}

ServiceTracker::Change ServiceTracker::remove(const model::ObjectName& name) {
  const auto it = services_.find(name);
  if (it == services_.end()) return {};
  Change out = change(&it->second.service, nullptr);
  claims_.change(it->second.service, &it->second.service, FrontendClaims::wanted(it->second.service, external_ips_), {},
                 out.affected);
  services_.erase(it);
  return out;
}

std::vector<model::ObjectName> ServiceTracker::reserve(std::vector<lib::SocketAddress> addresses) {
  std::vector<model::ObjectName> out;
  const auto before = claims_.reserve(std::move(addresses));
  if (before == claims_.reserved()) return out;
  for (const auto& [name, entry] : services_) {
    if (!entry.service.external_ips.empty()) out.push_back(name);
  }
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
    Change removed = remove(name);
    out.emplace_back(std::move(name), std::move(removed));
  }
  claims_.keep_holders();
  return out;
}

std::vector<model::ObjectName> ServiceTracker::serve_external_ips(bool on) {
  std::vector<model::ObjectName> out;
  if (std::exchange(external_ips_, on) == on) return out;
  for (const auto& [name, entry] : services_) {
    if (entry.service.external_ips.empty()) continue;
    out.push_back(name);
    claims_.change(entry.service, &entry.service, FrontendClaims::wanted(entry.service, !on),
                   FrontendClaims::wanted(entry.service, on), out);
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
