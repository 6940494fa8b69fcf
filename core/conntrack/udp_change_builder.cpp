// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conntrack/udp_change_builder.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "lib/text.hpp"

namespace sluice::conntrack {
namespace {

using Addresses = std::vector<lib::SocketAddress>;

void sort_unique(Addresses& addresses) {
  lib::sort_unique(addresses);
  addresses.shrink_to_fit();
}

std::shared_ptr<UdpPort> udp_port(const store::ServicePort& port) {
  auto out = std::make_shared<UdpPort>();
  for (const store::Frontend& frontend : port.frontends) {
    if (frontend.kind == store::FrontendKind::node_port) {
      out->node_port = frontend.port;
    } else {
      out->frontends.push_back({frontend.address, frontend.port});
    }
  }
  out->serving.reserve(port.endpoints.size() + port.also_serving.size());
  for (const auto* list : {&port.endpoints, &port.also_serving}) {
    for (const store::Endpoint& endpoint : *list) {
      // An endpoint that receives connections counts as serving, whatever its serving condition.
      if (!endpoint.serving && !endpoint.in_cluster && !endpoint.in_local) continue;
      out->serving.push_back({lib::IpAddress::from_bytes(port.family, endpoint.address.data()), endpoint.port});
    }
  }
  sort_unique(out->frontends);
  sort_unique(out->serving);
  return out;
}

NodePortScope node_port_scope(const snapshot::NodeFacts& facts) {
  NodePortScope out;
  out.addresses = facts.node_ports_match_all ? facts.local_addresses : facts.node_port_addresses;
  std::sort(out.addresses.begin(), out.addresses.end());
  out.loopback = facts.node_ports_on_localhost;
  out.local = facts.local_addresses;
  std::sort(out.local.begin(), out.local.end());
  return out;
}

}  // namespace

UdpChange UdpChangeBuilder::update(const snapshot::Transaction& transaction) {
  UdpChange out;
  out.full = transaction.full;
  if (facts_ != transaction.node) {
    facts_ = transaction.node;
    auto scope = node_port_scope(*facts_);
    if (out.full || scope != scope_) out.node_ports = std::make_shared<const NodePortScope>(scope);
    scope_ = std::move(scope);
  }
  for (const auto& port : transaction.service_ports) {
    if (port->key.protocol != model::Protocol::udp) continue;
    const UdpPortKey key{port->key.service, port->key.port_name};
    auto value = udp_port(*port);
    if (const auto found = relays_.find(key); found != relays_.end()) value->relays = found->second;
    out.ports.emplace_back(key, std::move(value));
  }
  for (const auto& removed : transaction.removed) {
    if (removed.protocol != model::Protocol::udp) continue;
    const UdpPortKey key{removed.service, removed.port_name};
    relays_.erase(key);
    out.ports.emplace_back(key, nullptr);
  }
  if (out.full) forget_unnamed(out);
  return out;
}

void UdpChangeBuilder::relays(const UdpPortKey& key, std::vector<std::uint16_t> ports) {
  if (ports.empty()) {
    relays_.erase(key);
  } else {
    relays_.insert_or_assign(key, std::move(ports));
  }
}

std::vector<std::uint16_t> UdpChangeBuilder::relay_ports() const {
  std::vector<std::uint16_t> out;
  for (const auto& [key, ports] : relays_) out.insert(out.end(), ports.begin(), ports.end());
  lib::sort_unique(out);
  return out;
}

void UdpChangeBuilder::forget_unnamed(const UdpChange& everything) {
  if (relays_.empty()) return;
  std::unordered_set<UdpPortKey> named;
  for (const auto& [key, port] : everything.ports) named.insert(key);
  std::erase_if(relays_, [&](const auto& entry) { return !named.contains(entry.first); });
}

}  // namespace sluice::conntrack
