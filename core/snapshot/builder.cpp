// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/snapshot/builder.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::snapshot {

Builder Builder::for_new_subscription(const model::DetailsRequest& details) const {
  Builder out = *this;
  out.began_ = false;
  // The subscription that received the earlier changes reports their latency.
  out.triggers_.clear();
  if (details == details_) return out;
  out.details_ = details;
  for (const auto& [name, ports] : published_) out.dirty_.insert(name);
  return out;
}

void Builder::set_node_facts(const VersionedFacts& facts) {
  if (facts.version == facts_.version) return;
  facts_ = facts;
  facts_changed_ = true;
}

void Builder::note(store::Changes changes) {
  dirty_.merge(changes.dirty);
  pending_services_.merge(changes.services);
  pending_slice_changes_ += changes.slices;
  const std::size_t room = kMostTriggerTimes - triggers_.size();
  changes.triggers.resize(std::min(changes.triggers.size(), room));
  triggers_.insert(triggers_.end(), changes.triggers.begin(), changes.triggers.end());
}

std::size_t Builder::pending_services(const store::Store& store) const {
  const auto& waiting = store.pending_services(family_);
  if (pending_services_.empty()) return waiting.size();
  const auto added = std::count_if(waiting.begin(), waiting.end(),
                                   [this](const auto& name) { return !pending_services_.contains(name); });
  return pending_services_.size() + static_cast<std::size_t>(added);
}

Transaction Builder::delta(const store::Store& store, const model::Namespaces& deferred) {
  Transaction out = unsorted_delta(store, deferred);
  std::sort(out.service_ports.begin(), out.service_ports.end(),
            [](const auto& a, const auto& b) { return a->key < b->key; });
  std::sort(out.removed.begin(), out.removed.end());
  return out;
}

Transaction Builder::unsorted_delta(const store::Store& store, const model::Namespaces& deferred) {
  Transaction out;
  out.family = family_;
  out.base_generation = generation_;
  absorb_changes(store, deferred, out);
  const bool anything = facts_changed_ || !out.service_ports.empty() || !out.removed.empty();
  facts_changed_ = false;
  began_ = true;
  if (anything) ++generation_;
  out.generation = generation_;
  out.node = facts_.facts;
  out.node_version = facts_.version;
  return out;
}

Transaction Builder::full(const store::Store& store) {
  Transaction out = unsorted_delta(store, {});
  out.full = true;
  out.removed.clear();
  out.service_ports.clear();
  out.service_ports.reserve(service_port_count_);
  for (const auto& [name, ports] : published_) {
    out.service_ports.insert(out.service_ports.end(), ports.begin(), ports.end());
  }
  return out;
}

// Before the first transaction, published_ has what another subscription received.
std::vector<ServicePortPtr> Builder::delivered(const model::ObjectName& service) const {
  const auto found = published_.find(service);
  return began_ && found != published_.end() ? found->second : std::vector<ServicePortPtr>();
}

std::vector<model::ObjectName> Builder::delivered_names() const {
  std::vector<model::ObjectName> out;
  if (!began_) return out;
  out.reserve(published_.size());
  for (const auto& [service, ports] : published_) out.push_back(service);
  return out;
}

std::unordered_set<model::ObjectName> Builder::take_dirty(const store::Store& store, const model::Namespaces& deferred,
                                                          Transaction& into) {
  std::unordered_set<model::ObjectName> out = std::exchange(dirty_, {});
  if (!deferred.empty()) {
    for (auto at = out.begin(); at != out.end();) {
      const auto next = std::next(at);
      if (deferred.contains(at->name_space)) dirty_.insert(out.extract(at));
      at = next;
    }
    // A backend has one owner of each address and port, and between two owners clients would be refused.
    if (frontend_passes(out, dirty_, store) || frontend_passes(dirty_, out, store)) out.merge(std::exchange(dirty_, {}));
  }
  into.partial = !dirty_.empty();
  if (!into.partial) {
    // Assigning empty containers frees their memory, which is large after many changes.
    for (const store::Trigger& trigger : std::exchange(triggers_, {})) into.trigger_times.push_back(trigger.at);
    pending_services_ = {};
    pending_slice_changes_ = 0;
    return out;
  }
  std::erase_if(triggers_, [&](const store::Trigger& trigger) {
    if (deferred.contains(trigger.name_space)) return false;
    into.trigger_times.push_back(trigger.at);
    return true;
  });
  std::erase_if(pending_services_, [&](const model::ObjectName& name) { return !deferred.contains(name.name_space); });
  return out;
}

bool Builder::frontend_passes(const std::unordered_set<model::ObjectName>& from,
                              const std::unordered_set<model::ObjectName>& to, const store::Store& store) const {
  return std::any_of(from.begin(), from.end(), [&](const model::ObjectName& name) {
    const auto found = published_.find(name);
    if (found == published_.end()) return false;
    for (const ServicePortPtr& port : found->second) {
      for (const auto& frontend : port->frontends) {
        const model::Service* now = store.frontend_holder({frontend.address, frontend.port, port->key.protocol});
        if (now != nullptr && to.contains(now->name)) return true;
      }
    }
    return false;
  });
}

void Builder::absorb_changes(const store::Store& store, const model::Namespaces& deferred, Transaction& into) {
  for (const model::ObjectName& name : take_dirty(store, deferred, into)) {
    std::vector<store::ServicePort> resolved = store.resolve_service(name, family_, details_);

    const auto before = published_.find(name);
    std::vector<ServicePortPtr> old;
    if (before != published_.end()) old.swap(before->second);
    service_port_count_ -= old.size();
    service_port_count_ += resolved.size();

    // Both are sorted by key.
    std::vector<ServicePortPtr> now;
    now.reserve(resolved.size());
    auto known = old.begin();
    for (store::ServicePort& port : resolved) {
      while (known != old.end() && (*known)->key < port.key) into.removed.push_back((*known++)->key);
      const bool is_known = known != old.end() && (*known)->key == port.key;
      if (is_known && **known == port) {
        now.push_back(std::move(*known++));
        continue;
      }
      if (is_known) ++known;
      now.push_back(std::make_shared<const store::ServicePort>(std::move(port)));
      into.service_ports.push_back(now.back());
    }
    for (; known != old.end(); ++known) into.removed.push_back((*known)->key);
    if (now.empty()) {
      if (before != published_.end()) published_.erase(before);
    } else if (before != published_.end()) {
      before->second = std::move(now);
    } else {
      published_.emplace(name, std::move(now));
    }
  }
}

}  // namespace sluice::snapshot
