// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/affinity.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "plugins/iptables/names.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::iptables {
namespace {

std::string key_of(const abi::ServicePortKey& key) {
  return hash_input(sdk::service_port_name(key), sdk::protocol_name(key.protocol));
}

std::string list_name(const netfilter::ShortHash& hash) { return name(ChainId{ChainKind::kEndpoint, hash}); }

}  // namespace

void AffinityBook::note(const abi::Transaction& transaction) {
  if (transaction.kind == abi::TransactionKind::kFull) ports_.clear();
  for (const auto& key : sdk::range<abi::ServicePortKey>(transaction.removed)) ports_.erase(key_of(key));
  for (const auto& given : sdk::range<abi::ServicePort>(transaction.service_ports)) {
    const std::string key = key_of(given.key);
    if (!sdk::has(given, abi::kSessionAffinity)) {
      ports_.erase(key);
      continue;
    }
    Port port{std::string(sdk::text(given.key.namespace_name)), std::string(sdk::text(given.key.service_name)),
              std::string(sdk::text(given.key.port_name)),      given.key.protocol,
              given.affinity_seconds,                           {}};
    for (const abi::Endpoint& endpoint : sdk::endpoints(given)) {
      const std::string host_port = sdk::host_port(endpoint.address, family_, endpoint.port);
      port.endpoints.push_back({endpoint.address, endpoint.port, netfilter::base32_hash(key + host_port)});
    }
    ports_.insert_or_assign(key, std::move(port));
  }
}

std::vector<AffinityBook::Bound> AffinityBook::bound(const Port& port) {
  std::vector<Bound> found;
  for (const Endpoint& endpoint : port.endpoints) {
    const auto clients = lists_.read(list_name(endpoint.hash), family_);
    if (!clients) continue;
    for (const RecentClient& client : *clients) {
      if (client.age.count() >= port.seconds) continue;
      found.push_back({client.address, &endpoint, port.seconds - static_cast<std::uint32_t>(client.age.count())});
    }
  }
  const auto before = [](const Bound& a, const Bound& b) { return a.client < b.client; };
  std::stable_sort(found.begin(), found.end(), before);
  const auto same = [](const Bound& a, const Bound& b) { return a.client == b.client; };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  return found;
}

void AffinityBook::export_clients(abi::AffinitySink& sink) {
  for (const auto& [key, port] : ports_) {
    for (const Bound& one : bound(port)) {
      abi::AffinityClient client{};
      client.key.namespace_name = sdk::view(port.name_space);
      client.key.service_name = sdk::view(port.service);
      client.key.port_name = sdk::view(port.name);
      client.key.protocol = port.protocol;
      client.client = one.client;
      client.endpoint = one.endpoint->address;
      client.endpoint_port = one.endpoint->port;
      client.remaining_seconds = one.remaining;
      sink.add(&client);
    }
  }
}

void AffinityBook::keep(const abi::ArrayView& clients) {
  for (const auto& client : sdk::range<abi::AffinityClient>(clients)) {
    kept_.push_back({key_of(client.key), client.client, client.endpoint, client.endpoint_port});
  }
}

std::string AffinityBook::bind() {
  std::vector<Kept> kept = std::exchange(kept_, {});
  std::stable_sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) { return a.port < b.port; });
  std::size_t failed = 0;
  int why = 0;
  const Port* port = nullptr;
  std::vector<Bound> there;
  std::string known;
  for (const Kept& one : kept) {
    if (port == nullptr || one.port != known) {
      known = one.port;
      const auto found = ports_.find(known);
      port = found == ports_.end() ? nullptr : &found->second;
      if (port != nullptr) there = bound(*port);
    }
    if (port == nullptr) continue;
    const auto place = std::lower_bound(there.begin(), there.end(), one.client,
                                        [](const Bound& a, const abi::Address& client) { return a.client < client; });
    if (place != there.end() && place->client == one.client) continue;
    const auto endpoint = std::find_if(port->endpoints.begin(), port->endpoints.end(), [&](const Endpoint& each) {
      return each.port == one.endpoint_port && each.address == one.endpoint;
    });
    if (endpoint == port->endpoints.end()) continue;
    const int error = lists_.add(list_name(endpoint->hash), one.client, family_);
    if (error == 0) {
      there.insert(place, {one.client, &*endpoint, port->seconds});
    } else if (error != ENOENT) {  // an endpoint that takes no connections has no list
      ++failed;
      why = error;
    }
  }
  if (failed == 0) return {};
  return std::to_string(failed) + " clients with session affinity were not taken over: " + std::strerror(why);
}

}  // namespace sluice::iptables
