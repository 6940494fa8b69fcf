// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/counter_rows.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sluice::iptables {
namespace {

using abi::InspectedCounters;

void add_connections(InspectedCounters& to, std::uint64_t count) {
  to.flags |= abi::kKnownConnections;
  to.connections += count;
}

void add_refused(InspectedCounters& to, std::uint64_t count) {
  to.flags |= abi::kKnownRefused;
  to.refused += count;
}

class CounterFinder {
 public:
  CounterFinder(const KernelRules& rules, const ServiceNames& names, inspection::CounterRows& rows)
      : rules_(rules), names_(names), by_hash_(names.by_hash()), rows_(rows) {}

  void count() {
    for (const auto& [place, there] : rules_.places) count_place(place, there);
    for (const auto* const chains : {&rules_.clusters, &rules_.locals}) {
      for (const auto& [hash, chain] : *chains) count_endpoints(hash, chain);
    }
    for (auto& [key, counted] : services_) {
      std::string name(key.first);
      rows_.add(name, counted.all);
      for (const InspectedCounters& row : counted.frontends) rows_.add(name, row);
      for (const InspectedCounters& row : counted.endpoints) rows_.add(name, row);
    }
  }

 private:
  struct Counted {
    InspectedCounters all{};
    std::vector<InspectedCounters> frontends;
    std::vector<InspectedCounters> endpoints;
  };

  // Null if its rows are not asked for.
  Counted* service(std::string_view name, abi::Protocol protocol) {
    if (!rows_.wants(name)) return nullptr;
    Counted& counted = services_[{std::string(name), protocol}];
    counted.all.key.protocol = protocol;
    return &counted;
  }

  static InspectedCounters frontend(const Place& place) {
    InspectedCounters row{};
    row.key.protocol = place.protocol;
    row.flags = abi::kCountedFrontend | (place.node_port ? abi::kCountedNodePort : 0u);
    row.address = place.address;
    row.port = place.port;
    return row;
  }

  void count_place(const Place& place, const FrontendRules& there) {
    std::map<std::string_view, InspectedCounters> refusing;  // by service port
    const auto refuse = [&](const std::string& name, std::uint64_t packets) {
      if (!names_.contains(name, place.protocol)) return;
      add_refused(refusing.try_emplace(name, frontend(place)).first->second, packets);
    };
    for (const RefusalRule& refusal : there.refusals) refuse(refusal.name, refusal.packets);
    if (there.firewall) refuse(*there.firewall, there.firewall_packets);
    std::map<std::string_view, std::uint64_t> dispatched;
    for (const DispatchRule& rule : there.dispatch) {
      const auto name = by_hash_.find(rule.to.hash);
      if (name != by_hash_.end()) dispatched[name->second.service_port_name] += rule.packets;
    }
    for (const auto& [name, packets] : dispatched) {
      InspectedCounters& row = refusing.try_emplace(name, frontend(place)).first->second;
      // A refused packet has met the dispatch rule before. Rules that were written at different times may disagree.
      if (packets >= row.refused) add_connections(row, packets - row.refused);
    }
    for (const auto& [name, row] : refusing) {
      Counted* const counted = service(name, place.protocol);
      if (counted == nullptr) continue;
      if ((row.flags & abi::kKnownRefused) != 0) add_refused(counted->all, row.refused);
      counted->frontends.push_back(row);
    }
  }

  void count_endpoints(const netfilter::ShortHash& hash, const BalancingChain& chain) {
    const auto name = by_hash_.find(hash);
    if (name == by_hash_.end()) return;
    Counted* const counted = service(name->second.service_port_name, name->second.protocol);
    if (counted == nullptr) return;
    for (const EndpointChoice& choice : chain.choices) {
      const auto endpoint = rules_.endpoints.find(choice.endpoint);
      if (endpoint == rules_.endpoints.end() || !endpoint->second.to) continue;
      if (!done_.insert(choice.endpoint).second) continue;  // of both policies
      add_connections(counted->all, endpoint->second.packets);
      InspectedCounters row{};
      row.key.protocol = name->second.protocol;
      row.flags = abi::kCountedTarget;
      row.target = endpoint->second.to->address;
      row.target_port = endpoint->second.to->port;
      add_connections(row, endpoint->second.packets);
      counted->endpoints.push_back(row);
    }
  }

  const KernelRules& rules_;
  const ServiceNames& names_;
  const ServiceNames::ByHash by_hash_;
  inspection::CounterRows& rows_;
  std::map<std::pair<std::string, abi::Protocol>, Counted> services_;
  std::unordered_set<netfilter::ShortHash, ServiceNames::HashOfHash> done_;  // chains of endpoints
};

}  // namespace

void add_counter_rows(const KernelRules& rules, const ServiceNames& names, inspection::CounterRows& rows) {
  CounterFinder(rules, names, rows).count();
}

}  // namespace sluice::iptables
