// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/services/given_line.hpp"

#include <vector>

#include "lib/protocol.hpp"
#include "lib/text.hpp"

namespace sluice::observe {
namespace {

using store::Endpoint;
using store::Frontend;
using store::FrontendKind;
using store::ServicePort;

std::vector<std::string> list(const ServicePort& port, bool local) {
  std::vector<std::string> out;
  for (const Endpoint& endpoint : port.endpoints) {
    if (local ? !endpoint.in_local : !endpoint.in_cluster) continue;
    out.push_back(lib::host_port(lib::IpAddress::from_bytes(port.family, endpoint.address.data()), endpoint.port));
  }
  return out;
}

// Connections from this node and its pods count as internal, even to an external address.
bool inside_differs(const ServicePort& port, const Frontend& frontend) {
  return frontend.kind != FrontendKind::cluster_ip && uses_local_list(port, frontend);
}

std::string at(const NodePortAddresses& node_ports) {
  if (node_ports.every) return " at every address of this node";
  if (node_ports.addresses.empty()) return " at no address";
  return " at " + lib::joined(node_ports.addresses, ", ", &lib::IpAddress::to_string);
}

}  // namespace

bool uses_local_list(const ServicePort& port, const Frontend& frontend) {
  return frontend.kind == FrontendKind::cluster_ip ? port.internal_local : port.external_local;
}

std::string frontend_text(const ServicePort& port, const Frontend& frontend) {
  return port.key.to_string() + " " +
         (frontend.kind == FrontendKind::node_port ? ":" + std::to_string(frontend.port)
                                                   : lib::host_port(frontend.address, frontend.port)) +
         "/" + std::string(lib::protocol_name(port.key.protocol));
}

std::set<std::string> endpoints_for(const ServicePort& port, const Frontend& frontend) {
  const auto first = list(port, uses_local_list(port, frontend));
  std::set<std::string> out(first.begin(), first.end());
  if (inside_differs(port, frontend)) {
    for (auto& endpoint : list(port, false)) out.insert(std::move(endpoint));
  }
  return out;
}

std::string given_line(const ServicePort& port, const Frontend& frontend, const NodePortAddresses& node_ports) {
  const bool internal = frontend.kind == FrontendKind::cluster_ip;
  const bool local = uses_local_list(port, frontend);
  const std::string endpoints = lib::joined(list(port, local));
  const std::string inside = inside_differs(port, frontend) ? lib::joined(list(port, false)) : std::string();
  const bool served = !endpoints.empty() || !inside.empty();

  std::string out = frontend_text(port, frontend);
  if (frontend.kind == FrontendKind::node_port) out += at(node_ports);
  if (served && port.affinity_seconds != 0) out += " sticky for " + std::to_string(port.affinity_seconds) + " s";
  if (served && !internal && !local) out += " masqueraded";
  if (!endpoints.empty()) out += " -> " + endpoints;
  if (!inside.empty()) out += (endpoints.empty() ? " from this node -> " : "; from this node -> ") + inside;
  if (endpoints.empty()) {
    out += served ? "; else " : " -> ";
    out += local && port.has_any_endpoint ? "no endpoints on this node" : "no endpoints";
  }
  if (frontend.kind == FrontendKind::load_balancer && !port.source_ranges.empty()) {
    std::vector<std::string> ranges;
    for (const auto& range : port.source_ranges) ranges.push_back(range.to_string());
    out += "; only for " + lib::joined(ranges);
  }
  return out;
}

}  // namespace sluice::observe
