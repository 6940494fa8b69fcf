// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The addresses that a Service lists in one family. Pure.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "core/store/service_port.hpp"

namespace sluice::store {

// BEH 2.1, 2.2: does the Service yield service ports in this family?
bool has_service_ports(const model::Service& service, base::Family family);
// Why not, in words: "its type is ExternalName"; empty where it does.
std::string_view why_not_proxied(const model::Service& service, base::Family family);

// Limits over all ports of a Service in one family. An object of a megabyte can name a thousand times as many: each
// port has all addresses and source ranges, and each address of a slice is an endpoint of each port.
inline constexpr std::size_t kMostFrontends = 8192;
inline constexpr std::size_t kMostEndpoints = 131'072;  // and source ranges

// Each address of a kind once, in the order of the object.
class ServiceAddresses {
 public:
  // `external_ips`: whether spec.externalIPs are served (BEH 1.2).
  ServiceAddresses(const model::Service& service, base::Family family, bool external_ips);

  // Cluster IPs come first, the node port last.
  std::vector<Frontend> frontends(const model::ServicePortSpec& port) const;
  // The cluster IPs alone, for a port beyond the limits.
  std::vector<Frontend> cluster_ips(const model::ServicePortSpec& port) const;
  // The most that a port can have.
  std::size_t size() const { return addresses_.size() + 1; }

 private:
  base::Family family_;
  std::vector<std::pair<FrontendKind, base::IpAddress>> addresses_;
};

}  // namespace sluice::store
