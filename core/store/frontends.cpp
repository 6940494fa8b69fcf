// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/store/frontends.hpp"

#include <algorithm>
#include <unordered_set>

namespace sluice::store {

bool has_service_ports(const model::Service& service, lib::Family family) {
  return service.type != model::ServiceType::external_name && !service.headless &&
         std::any_of(service.cluster_ips.begin(), service.cluster_ips.end(),
                     [&](const lib::IpAddress& ip) { return ip.family() == family; });
}

std::string_view why_not_proxied(const model::Service& service, lib::Family family) {
  if (service.type == model::ServiceType::external_name) return "its type is ExternalName: DNS alone answers for it";
  if (service.headless) return "it is headless: clients connect to its endpoints";
  if (!has_service_ports(service, family)) return "it has no cluster IP of this family";
  return service.ports.empty() ? "it has no ports" : "";
}

ServiceAddresses::ServiceAddresses(const model::Service& service, lib::Family family, bool external_ips)
    : family_(family) {
  const auto add = [&](FrontendKind kind, const std::vector<lib::IpAddress>& addresses) {
    std::unordered_set<lib::IpAddress> added;
    for (const auto& address : addresses) {
      if (address.family() == family && added.insert(address).second) addresses_.emplace_back(kind, address);
    }
  };
  add(FrontendKind::cluster_ip, service.cluster_ips);
  if (external_ips) add(FrontendKind::external_ip, service.external_ips);
  add(FrontendKind::load_balancer, service.load_balancer_ips);
}

std::vector<Frontend> ServiceAddresses::frontends(const model::ServicePortSpec& port) const {
  std::vector<Frontend> out;
  out.reserve(addresses_.size() + (port.node_port != 0 ? 1 : 0));
  for (const auto& [kind, address] : addresses_) out.push_back({kind, address, port.port});
  if (port.node_port != 0) out.push_back({FrontendKind::node_port, lib::IpAddress::any(family_), port.node_port});
  return out;
}

std::vector<Frontend> ServiceAddresses::cluster_ips(const model::ServicePortSpec& port) const {
  std::vector<Frontend> out;
  for (const auto& [kind, address] : addresses_) {
    if (kind == FrontendKind::cluster_ip) out.push_back({kind, address, port.port});
  }
  return out;
}

}  // namespace sluice::store
