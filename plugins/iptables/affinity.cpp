// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/affinity.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "plugins/common/address_hash.hpp"
#include "plugins/iptables/names.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/affinity.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::iptables {
namespace {

std::string list_name(const netfilter::ShortHash& hash) { return name(ChainId{ChainKind::kEndpoint, hash}); }

}  // namespace

void AffinityClients::note(const abi::Transaction& transaction) {
  if (transaction.kind == abi::TransactionKind::kFull) ports_.clear();
  for (const auto& key : sdk::range<abi::ServicePortKey>(transaction.removed)) ports_.erase(hash_input(key));
  for (const auto& given : sdk::range<abi::ServicePort>(transaction.service_ports)) {
    const std::string key = hash_input(given.key);
    if (!sdk::has(given, abi::kSessionAffinity)) {
      ports_.erase(key);
      continue;
    }
    Port port{std::string(sdk::text(given.key.service_namespace)), std::string(sdk::text(given.key.service_name)),
              std::string(sdk::text(given.key.port_name)),      given.key.protocol,
              given.affinity_seconds,                           {}};
    for (const abi::Endpoint& endpoint : sdk::endpoints(given)) {
      const std::string host_port = sdk::host_port(endpoint.address, family_, endpoint.port);
      port.endpoints.push_back({endpoint.address, endpoint.port, netfilter::base32_hash(key + host_port)});
    }
    ports_.insert_or_assign(key, std::move(port));
  }
}

std::vector<AffinityClients::Bound> AffinityClients::bound(const Port& port) {
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

void AffinityClients::export_clients(abi::AffinitySink& sink) {
  sdk::AffinityBatch batch(sink);
  for (const auto& [key, port] : ports_) {
    for (const Bound& one : bound(port)) {
      abi::AffinityClient client{};
      client.key.service_namespace = sdk::view(port.name_space);
      client.key.service_name = sdk::view(port.service);
      client.key.port_name = sdk::view(port.name);
      client.key.protocol = port.protocol;
      client.client = one.client;
      client.endpoint = one.endpoint->address;
      client.endpoint_port = one.endpoint->port;
      client.remaining_seconds = one.remaining;
      batch.add(client);
    }
  }
}

void AffinityClients::keep(const abi::ArrayView& clients) {
  for (const auto& client : sdk::range<abi::AffinityClient>(clients)) {
    kept_[hash_input(client.key)].push_back(
        {client.client, client.endpoint, client.endpoint_port, client.remaining_seconds});
  }
}

// Must be fast: there may be hundreds of thousands of clients, and new connections wait for the end of the swap.
void AffinityClients::bind(const Port& port, const std::vector<Kept>& clients, std::size_t capacity,
                        NotImported& not_imported) {
  struct Target {
    const Endpoint* endpoint;
    std::size_t bound;
    std::vector<const Kept*> coming;
  };
  std::vector<Target> targets;
  for (const Endpoint& endpoint : port.endpoints) targets.push_back({&endpoint, 0, {}});
  const auto place = [](const Target& one) { return std::pair(one.endpoint->address, one.endpoint->port); };
  std::sort(targets.begin(), targets.end(), [&](const Target& a, const Target& b) { return place(a) < place(b); });
  const auto find = [&](const abi::Address& address, std::uint16_t number) {
    const std::pair wanted(address, number);
    const auto found = std::lower_bound(targets.begin(), targets.end(), wanted,
                                        [&](const Target& one, const auto& key) { return place(one) < key; });
    return found != targets.end() && place(*found) == wanted ? &*found : nullptr;
  };
  std::unordered_set<abi::Address> known;
  for (const Bound& one : bound(port)) {
    known.insert(one.client);
    ++find(one.endpoint->address, one.endpoint->port)->bound;
  }
  for (const Kept& one : clients) {
    Target* const target = find(one.endpoint, one.endpoint_port);
    if (target != nullptr && known.insert(one.client).second) target->coming.push_back(&one);
  }
  for (Target& target : targets) {
    if (target.coming.empty()) continue;
    std::stable_sort(target.coming.begin(), target.coming.end(),
                     [](const Kept* a, const Kept* b) { return a->remaining < b->remaining; });
    const std::size_t room = capacity - std::min(capacity, target.bound);
    const std::size_t over = target.coming.size() - std::min(target.coming.size(), room);
    std::vector<abi::Address> chosen;
    for (std::size_t at = over; at < target.coming.size(); ++at) chosen.push_back(target.coming[at]->client);
    const RecentLists::Added added = lists_.add(list_name(target.endpoint->hash), chosen, family_);
    if (added.error == ENOENT) continue;  // an endpoint that takes no connections has no list
    not_imported.no_room += over;
    not_imported.failed += added.failed;
    if (added.failed != 0) not_imported.error = added.error;
  }
}

std::string AffinityClients::bind() {
  const std::map<std::string, std::vector<Kept>> kept = std::exchange(kept_, {});
  if (kept.empty()) return {};
  const std::size_t capacity = lists_.capacity();
  NotImported not_imported;
  for (const auto& [key, clients] : kept) {
    const auto port = ports_.find(key);
    if (port != ports_.end()) bind(port->second, clients, capacity, not_imported);
  }
  const std::size_t count = not_imported.no_room + not_imported.failed;
  if (count == 0) return {};
  std::string problem = std::to_string(count) + " clients with session affinity were not imported: ";
  if (not_imported.failed != 0) return problem + std::strerror(not_imported.error);
  return problem + "for each endpoint the kernel remembers " + std::to_string(capacity) +
         " (parameter ip_list_tot of the module xt_recent)";
}

}  // namespace sluice::iptables
