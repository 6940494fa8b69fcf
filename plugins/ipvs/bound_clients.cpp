// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/bound_clients.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "sluice/sdk/affinity.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::ipvs {
namespace {

// Shorter bindings may have expired since the export.
constexpr std::uint32_t kExpiringSoon = 10;  // seconds

struct Binding {
  RealServer real;
  std::uint32_t seconds = 0;
};
using Clients = std::map<std::pair<PortId, abi::Address>, Binding>;

}  // namespace

bool export_clients(const Wanted& wanted, const VisitConnections& visit, const MoreTime& more, abi::AffinitySink& sink) {
  struct Owner {
    PortId id;
    std::uint32_t most;
  };
  std::unordered_map<ServerKey, Owner, ServerKeyHash> owners;
  for (const PortId& id : wanted.ids()) {
    for (const WantedServer& one : wanted.find(id)->servers) {
      if ((one.server.flags & kPersistent) == 0 || one.owner != id.first) continue;
      owners.emplace(one.server.key, Owner{id, one.server.persistence_seconds});
    }
  }
  if (owners.empty()) return true;
  Clients clients;
  const auto note = [&](const ServerConnection& connection) {
    if (!connection.is_template()) return true;
    const auto owner = owners.find(connection.server);
    if (owner == owners.end()) return true;
    const std::uint32_t seconds = std::clamp(connection.expires, std::uint32_t{1}, std::max(owner->second.most, 1u));
    Binding& binding = clients[{owner->second.id, connection.client}];
    if (seconds > binding.seconds) binding = {connection.real, seconds};
    return true;
  };
  const bool all = visit(note, more);
  sdk::AffinityBatch batch(sink);
  for (const auto& [bound, binding] : clients) {
    abi::AffinityClient client{};
    client.key = sdk::parse_service_port_name(bound.first.first, bound.first.second);
    client.client = bound.second;
    client.endpoint = binding.real.address;
    client.endpoint_port = binding.real.port;
    client.remaining_seconds = binding.seconds;
    batch.add(client);
  }
  return all;
}

std::size_t count_unbound(abi::ArrayView clients, const VisitConnections& visit, const MoreTime& more) {
  std::map<std::tuple<abi::Protocol, abi::Address, RealServer>, std::size_t> unbound;
  for (const auto& one : sdk::range<abi::AffinityClient>(clients)) {
    if (one.remaining_seconds <= kExpiringSoon) continue;
    ++unbound[{one.key.protocol, one.client, RealServer{one.endpoint, one.endpoint_port}}];
  }
  if (unbound.empty()) return 0;
  visit(
      [&](const ServerConnection& connection) {
        if (connection.is_template()) unbound.erase({connection.server.protocol, connection.client, connection.real});
        return !unbound.empty();
      },
      more);
  std::size_t count = 0;
  for (const auto& [client, frontends] : unbound) count += frontends;
  return count;
}

}  // namespace sluice::ipvs
