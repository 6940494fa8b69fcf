// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The addresses that a Service lists in one family.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "core/store/service_port.hpp"

namespace sluice::store {

// Whether the Service has service ports in this family (BEH 2.1, 2.2).
bool has_service_ports(const model::Service& service, lib::Family family);
// The reason why it has none ("its type is ExternalName"); empty if it has some.
std::string_view why_not_proxied(const model::Service& service, lib::Family family);

// Limits over all ports of a Service in one family. Without them, an object of 1 MiB can expand to a thousand times as
// many: each port has all addresses and source ranges, and each address of a slice is an endpoint of each port.
inline constexpr std::size_t kMostFrontends = 8192;
inline constexpr std::size_t kMostEndpoints = 131'072;  // and source ranges

// The addresses of a Service in the order of the object, without duplicates within a kind.
class ServiceAddresses {
 public:
  // `external_ips`: whether spec.externalIPs are served (BEH 1.2).
  ServiceAddresses(const model::Service& service, lib::Family family, bool external_ips);

  // Cluster IPs come first, the node port last.
  std::vector<Frontend> frontends(const model::ServicePortSpec& port) const;
  // The cluster IPs alone, for a port beyond the limits.
  std::vector<Frontend> cluster_ips(const model::ServicePortSpec& port) const;
  // The maximum number of frontends of a port.
  std::size_t size() const { return addresses_.size() + 1; }

 private:
  lib::Family family_;
  std::vector<std::pair<FrontendKind, lib::IpAddress>> addresses_;
};

}  // namespace sluice::store
