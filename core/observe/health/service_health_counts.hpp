// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Counts the local endpoints of each Service with a health check node port (BEH 2.6), from
// the transactions of one family. Pure. Its size depends on the Services with such a port
// and their local endpoints, not on the cluster.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/model/object_name.hpp"
#include "core/snapshot/transaction.hpp"

namespace sluice::observe {

struct ServiceHealthUpdate {
  std::string name_space;
  std::string name;
  std::uint16_t port = 0;           // 0: the port was removed
  std::size_t local_endpoints = 0;  // distinct addresses of ready local endpoints
  bool operator==(const ServiceHealthUpdate&) const = default;
};

class ServiceHealthCounts {
 public:
  // Returns the changes: removed ports first, then sorted by name.
  std::vector<ServiceHealthUpdate> update(const snapshot::Transaction& transaction);

  std::size_t service_count() const { return services_.size(); }

 private:
  using Address = std::array<std::uint8_t, 16>;
  struct PortOrder {
    using Key = std::pair<base::Symbol, model::Protocol>;
    bool operator()(const Key& a, const Key& b) const {
      return std::pair(a.first.id(), a.second) < std::pair(b.first.id(), b.second);
    }
  };
  struct Service {
    std::uint16_t port = 0;
    // The addresses of ready local endpoints; empty: the Service is gone.
    std::map<PortOrder::Key, std::vector<Address>, PortOrder> service_ports;
    ServiceHealthUpdate published;
    bool touched = false;
  };

  void put(const store::ServicePort& port);
  void remove(const store::ServicePortKey& key);
  void touch(const model::ObjectName& name, Service& service);

  std::map<model::ObjectName, Service> services_;
  std::vector<model::ObjectName> touched_;  // by the current transaction
};

}  // namespace sluice::observe
