// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How many endpoints of each Service with a health check node port run on this node
// (BEH 2.6), kept up to date from the transactions of one family. Pure. What it holds
// grows with the Services that have such a port and with their local endpoints, not
// with the cluster.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/model/object_name.hpp"
#include "core/snapshot/transaction.hpp"

namespace sluice::observe {

struct ServiceHealthUpdate {
  std::string name_space;
  std::string name;
  std::uint16_t port = 0;           // 0: no port any more
  std::size_t local_endpoints = 0;  // different addresses, ready and local
  bool operator==(const ServiceHealthUpdate&) const = default;
};

class ServiceHealthCounts {
 public:
  // What is different now: ports that close first, then sorted by name.
  std::vector<ServiceHealthUpdate> update(const snapshot::Transaction& transaction);

  std::size_t service_count() const { return services_.size(); }

 private:
  using Address = std::array<std::uint8_t, 16>;
  struct ServicePort {
    base::Symbol name;
    model::Protocol protocol = model::Protocol::tcp;
    std::vector<Address> local_ready;
  };
  struct Service {
    std::uint16_t port = 0;
    std::vector<ServicePort> service_ports;  // none: gone
    ServiceHealthUpdate published;
    bool touched = false;
  };

  void put(const store::ServicePort& port);
  void remove(const store::ServicePortKey& key);
  void touch(const model::ObjectName& name, Service& service);

  std::map<model::ObjectName, Service> services_;
  std::vector<model::ObjectName> touched_;  // by the transaction at hand
};

}  // namespace sluice::observe
