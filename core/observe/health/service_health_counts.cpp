// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/health/service_health_counts.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace sluice::observe {

std::vector<ServiceHealthUpdate> ServiceHealthCounts::update(const snapshot::Transaction& transaction) {
  if (transaction.full) {
    for (auto& [name, service] : services_) {
      service.service_ports.clear();
      touch(name, service);
    }
  }
  for (const auto& port : transaction.service_ports) {
    // Its health check port may have been removed.
    if (port->health_check_node_port != 0) {
      put(*port);
    } else {
      remove(port->key);
    }
  }
  for (const auto& key : transaction.removed) remove(key);

  std::sort(touched_.begin(), touched_.end());
  std::vector<ServiceHealthUpdate> out;
  for (const model::ObjectName& name : touched_) {
    Service& service = services_.at(name);
    service.touched = false;
    std::set<Address> addresses;
    for (const auto& [port, ready] : service.service_ports) addresses.insert(ready.begin(), ready.end());
    ServiceHealthUpdate now{std::string(name.name_space.text()), name.name,
                            service.service_ports.empty() ? std::uint16_t(0) : service.port, addresses.size()};
    if (now != service.published) out.push_back(now);
    if (now.port == 0) {
      services_.erase(name);
    } else {
      service.published = std::move(now);
    }
  }
  touched_.clear();
  std::stable_partition(out.begin(), out.end(), [](const ServiceHealthUpdate& u) { return u.port == 0; });
  return out;
}

void ServiceHealthCounts::put(const store::ServicePort& port) {
  Service& service = services_[port.key.service];
  touch(port.key.service, service);
  service.port = port.health_check_node_port;
  std::vector<Address>& ready = service.service_ports[{port.key.port_name, port.key.protocol}];
  ready.clear();
  for (const store::Endpoint& endpoint : port.endpoints) {
    if (endpoint.local && endpoint.ready) ready.push_back(endpoint.address);
  }
}

void ServiceHealthCounts::remove(const store::ServicePortKey& key) {
  const auto found = services_.find(key.service);
  if (found == services_.end()) return;
  touch(found->first, found->second);
  found->second.service_ports.erase({key.port_name, key.protocol});
}

void ServiceHealthCounts::touch(const model::ObjectName& name, Service& service) {
  if (service.touched) return;
  service.touched = true;
  touched_.push_back(name);
}

}  // namespace sluice::observe
