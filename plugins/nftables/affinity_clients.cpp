// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/affinity_clients.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "sluice/sdk/address.hpp"
#include "sluice/sdk/affinity.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::nftables {

void export_affinity(const Model& model, const std::vector<RememberedClient>& remembered, abi::AffinitySink& sink) {
  std::vector<const RememberedClient*> by_id;
  by_id.reserve(remembered.size());
  for (const RememberedClient& one : remembered) by_id.push_back(&one);
  std::sort(by_id.begin(), by_id.end(),
            [](const RememberedClient* a, const RememberedClient* b) { return a->id < b->id; });
  sdk::AffinityBatch batch(sink);
  model.each_sticky([&](const Model::Sticky& port) {
    const auto first = std::lower_bound(by_id.begin(), by_id.end(), port.id,
                                        [](const RememberedClient* one, std::uint32_t id) { return one->id < id; });
    std::map<std::uint32_t, EndpointAddress> endpoints;
    for (const auto& entry : port.endpoints) endpoints.emplace(port.id | entry.number, entry.endpoint);
    for (auto at = first; at != by_id.end() && (*at)->id == port.id; ++at) {
      const auto endpoint = endpoints.find((*at)->token);
      if (endpoint == endpoints.end()) continue;
      abi::AffinityClient client{};
      client.key = sdk::parse_service_port_name(port.name, port.protocol);
      client.client = (*at)->client;
      client.endpoint = endpoint->second.address;
      client.endpoint_port = endpoint->second.port;
      client.remaining_seconds = std::clamp((*at)->remaining, std::uint32_t{1}, std::max(port.seconds, std::uint32_t{1}));
      batch.add(client);
    }
  });
}

void ImportedClients::add(const abi::ArrayView& clients) {
  for (const auto& one : sdk::range<abi::AffinityClient>(clients)) {
    kept_[{sdk::service_port_name(one.key), one.key.protocol}].push_back(
        {one.client, {one.endpoint, one.endpoint_port}, one.remaining_seconds});
  }
}

std::vector<RememberedClient> ImportedClients::find(const Model& model, std::size_t most) const {
  std::vector<RememberedClient> found;
  model.each_sticky([&](const Model::Sticky& port) {
    const auto kept = kept_.find({port.name, port.protocol});
    if (kept == kept_.end()) return;
    std::set<abi::Address> known;
    for (const Client& client : kept->second) {
      const auto before = [](const AffinityTokens::Entry& entry, const EndpointAddress& wanted) {
        return entry.endpoint < wanted;
      };
      const auto entry = std::lower_bound(port.endpoints.begin(), port.endpoints.end(), client.endpoint, before);
      if (entry == port.endpoints.end() || entry->endpoint != client.endpoint) continue;
      if (found.size() == most || !known.insert(client.client).second) continue;
      const std::uint32_t remaining = std::clamp(client.remaining, std::uint32_t{1}, port.seconds);
      found.push_back({port.id, client.client, port.id | entry->number, port.seconds, remaining});
    }
  });
  return found;
}

}  // namespace sluice::nftables
