// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/affinity_exchange.hpp"

#include <chrono>
#include <cstdint>
#include <utility>

#include "plugins/userspace/service_table.hpp"
#include "sluice/sdk/affinity.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::userspace {
namespace {

using std::chrono::seconds;

}  // namespace

void AffinityExchange::set_table(ServiceTable* table) {
  table_ = table;
  if (table_ == nullptr) return;
  for (auto& [id, bindings] : std::exchange(imported_, {})) table_->bind(id, std::move(bindings));
}

abi::Code AffinityExchange::export_clients(abi::AffinitySink* sink, abi::Error* error) noexcept {
  return sdk::guarded(error, [&] {
    if (table_ == nullptr) return;
    sdk::AffinityBatch batch(*sink);
    table_->each_binding([&](const PortalId& id, const Balancer::Binding& binding) {
      abi::AffinityClient client{};
      client.key = sdk::parse_service_port_name(id.first, id.second);
      client.client = binding.client;
      client.endpoint = binding.endpoint;
      client.endpoint_port = binding.port;
      client.remaining_seconds = static_cast<std::uint32_t>(std::chrono::ceil<seconds>(binding.remaining).count());
      batch.add(client);
    });
  });
}

abi::Code AffinityExchange::import_clients(abi::ArrayView clients, abi::Error* error) noexcept {
  return sdk::guarded(error, [&] {
    std::map<PortalId, std::vector<Balancer::Binding>> given;
    for (const abi::AffinityClient& client : sdk::range<abi::AffinityClient>(clients)) {
      given[portal_id(client.key)].push_back(
          {client.client, client.endpoint, client.endpoint_port, seconds(client.remaining_seconds)});
    }
    if (table_ == nullptr) {
      imported_ = std::move(given);
      return;
    }
    for (auto& [id, bindings] : given) table_->bind(id, std::move(bindings));
  });
}

}  // namespace sluice::userspace
