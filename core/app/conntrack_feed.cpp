// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/conntrack_feed.hpp"

#include <algorithm>

namespace sluice::app {
namespace {

using Addresses = std::vector<base::SocketAddress>;

void sort_unique(Addresses& addresses) {
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  addresses.shrink_to_fit();
}

node::UdpPortPtr udp_port(const store::ServicePort& port) {
  auto out = std::make_shared<node::UdpPort>();
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
      // What is sent connections counts, even if it says that it does not serve.
      if (!endpoint.serving && !endpoint.in_cluster && !endpoint.in_local) continue;
      out->serving.push_back({base::IpAddress::from_bytes(port.family, endpoint.address.data()), endpoint.port});
    }
  }
  sort_unique(out->frontends);
  sort_unique(out->serving);
  return out;
}

node::NodePortScope node_port_scope(const snapshot::NodeFacts& facts) {
  node::NodePortScope out;
  out.addresses = facts.node_ports_match_all ? facts.local_addresses : facts.node_port_addresses;
  std::sort(out.addresses.begin(), out.addresses.end());
  out.loopback = facts.node_ports_on_localhost;
  return out;
}

}  // namespace

node::UdpChange ConntrackFeed::update(const snapshot::Transaction& transaction) {
  node::UdpChange out;
  out.full = transaction.full;
  if (facts_ != transaction.node) {
    facts_ = transaction.node;
    auto scope = node_port_scope(*facts_);
    if (out.full || scope != scope_) out.node_ports = std::make_shared<const node::NodePortScope>(scope);
    scope_ = std::move(scope);
  }
  for (const auto& port : transaction.service_ports) {
    if (port->key.protocol != model::Protocol::udp) continue;
    out.ports.emplace_back(node::UdpPortKey{port->key.service, port->key.port_name}, udp_port(*port));
  }
  for (const auto& key : transaction.removed) {
    if (key.protocol == model::Protocol::udp) {
      out.ports.emplace_back(node::UdpPortKey{key.service, key.port_name}, nullptr);
    }
  }
  return out;
}

}  // namespace sluice::app
