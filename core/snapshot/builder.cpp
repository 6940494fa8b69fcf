// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/snapshot/builder.hpp"

#include <algorithm>

namespace sluice::snapshot {

void Builder::set_node_facts(NodeFacts facts) {
  if (facts_ && *facts_ == facts) return;
  facts_ = std::make_shared<const NodeFacts>(std::move(facts));
  ++facts_version_;
  facts_changed_ = true;
}

Transaction Builder::delta(store::Store& store) {
  Transaction out;
  out.family = family_;
  out.base_generation = generation_;
  absorb_changes(store, out);
  const bool anything = facts_changed_ || !out.service_ports.empty() || !out.removed.empty();
  facts_changed_ = false;
  if (anything) ++generation_;
  out.generation = generation_;
  out.node = facts_;
  out.node_version = facts_version_;
  return out;
}

Transaction Builder::full(store::Store& store) {
  Transaction out = delta(store);
  out.full = true;
  out.removed.clear();
  out.service_ports.clear();
  out.service_ports.reserve(service_port_count_);
  for (const auto& [name, ports] : published_) {
    out.service_ports.insert(out.service_ports.end(), ports.begin(), ports.end());
  }
  std::sort(out.service_ports.begin(), out.service_ports.end(),
            [](const auto& a, const auto& b) { return a->key < b->key; });
  return out;
}

std::vector<ServicePortPtr> Builder::told() const {
  std::vector<ServicePortPtr> out;
  out.reserve(service_port_count_);
  for (const auto& [service, ports] : published_) out.insert(out.end(), ports.begin(), ports.end());
  return out;
}

void Builder::absorb_changes(store::Store& store, Transaction& into) {
  for (const model::ObjectName& name : store.take_dirty(family_)) {
    std::vector<store::ServicePort> resolved = store.resolve_service(name, family_);
    const auto times = store.take_trigger_times(name, family_);
    into.trigger_times.insert(into.trigger_times.end(), times.begin(), times.end());

    const auto before = published_.find(name);
    std::vector<ServicePortPtr> old;
    if (before != published_.end()) old.swap(before->second);
    service_port_count_ -= old.size();
    service_port_count_ += resolved.size();

    std::vector<ServicePortPtr> now;
    now.reserve(resolved.size());
    for (store::ServicePort& port : resolved) {
      const auto same_key = std::find_if(old.begin(), old.end(), [&](const auto& p) { return p && p->key == port.key; });
      if (same_key != old.end() && **same_key == port) {
        now.push_back(std::move(*same_key));
        continue;
      }
      if (same_key != old.end()) same_key->reset();
      port.endpoints.shrink_to_fit();
      port.also_serving.shrink_to_fit();
      now.push_back(std::make_shared<const store::ServicePort>(std::move(port)));
      into.service_ports.push_back(now.back());
    }
    for (const auto& gone : old) {
      if (gone) into.removed.push_back(gone->key);
    }
    if (now.empty()) {
      if (before != published_.end()) published_.erase(before);
    } else if (before != published_.end()) {
      before->second = std::move(now);
    } else {
      published_.emplace(name, std::move(now));
    }
  }
  std::sort(into.service_ports.begin(), into.service_ports.end(),
            [](const auto& a, const auto& b) { return a->key < b->key; });
  std::sort(into.removed.begin(), into.removed.end());
}

}  // namespace sluice::snapshot
