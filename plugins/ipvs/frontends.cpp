// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/frontends.hpp"

#include <algorithm>
#include <utility>

namespace sluice::ipvs {

Frontends::Frontends(const ServicePlan& plan, std::vector<ServerKey> missing)
    : plan_(plan), missing_(std::move(missing)) {}

bool Frontends::has(const ServerKey& key) const {
  return std::find(missing_.begin(), missing_.end(), key) == missing_.end();
}

bool Frontends::has(const abi::Address& address) const {
  if (missing_.empty()) return true;
  return std::any_of(plan_.servers.begin(), plan_.servers.end(), [&](const WantedServer& one) {
    return one.server.key.address == address && has(one.server.key);
  });
}

bool Frontends::has(const SetItem& item) const {
  if (missing_.empty()) return true;
  switch (item.set) {
    case SetId::kLoopBack:
    case SetId::kHealthCheckNodePort:
      return true;
    case SetId::kIpvsAddresses:
      return has(item.entry.address);
    case SetId::kNodePortTcp:
    case SetId::kNodePortLocalTcp:
    case SetId::kNodePortUdp:
    case SetId::kNodePortLocalUdp: {
      const auto first = plan_.servers.end() - static_cast<std::ptrdiff_t>(plan_.node_ports);
      return plan_.node_ports == 0 || std::any_of(first, plan_.servers.end(), [&](const WantedServer& one) {
               return has(one.server.key);
             });
    }
    default:
      return has(ServerKey{item.entry.address, item.entry.port, item.entry.protocol});
  }
}

std::vector<ServerKey> remove_frontends(ServicePlan& plan, const std::function<bool(const ServerKey&)>& foreign) {
  const std::size_t own = plan.servers.size() - plan.node_ports;
  std::vector<ServerKey> found, missing;
  bool node_port = false;
  for (std::size_t i = 0; i < plan.servers.size(); ++i) {
    const ServerKey& key = plan.servers[i].server.key;
    if (!foreign(key)) continue;
    found.push_back(key);
    if (i < own || key.protocol == abi::Protocol::kSctp) {
      missing.push_back(key);
    } else {
      node_port = true;
    }
  }
  if (found.empty()) return found;
  for (std::size_t i = own; node_port && i < plan.servers.size(); ++i) missing.push_back(plan.servers[i].server.key);
  const ServicePlan whole = plan;
  const Frontends left(whole, std::move(missing));
  for (std::size_t i = own; i < whole.servers.size(); ++i) plan.node_ports -= left.has(whole.servers[i].server.key) ? 0 : 1;
  std::erase_if(plan.servers, [&](const WantedServer& one) { return !left.has(one.server.key); });
  std::erase_if(plan.items, [&](const SetItem& item) { return !left.has(item); });
  std::erase_if(plan.addresses, [&](const abi::Address& address) { return !left.has(address); });
  std::erase_if(plan.external, [&](const abi::Address& address) { return !left.has(address); });
  std::erase_if(plan.closed, [&](const ServerKey& key) { return !left.has(key); });
  return found;
}

}  // namespace sluice::ipvs
