// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/told_lines.hpp"

#include <algorithm>
#include <utility>

namespace sluice::app {
namespace {

using store::Endpoint;
using store::Frontend;
using store::FrontendKind;
using store::ServicePort;

const char* protocol_suffix(model::Protocol protocol) {
  switch (protocol) {
    case model::Protocol::tcp:
      return "/tcp";
    case model::Protocol::udp:
      return "/udp";
    case model::Protocol::sctp:
      return "/sctp";
  }
  return "";
}

std::string endpoint_list(const ServicePort& port, bool local_policy) {
  std::string out;
  for (const Endpoint& endpoint : port.endpoints) {
    if (local_policy ? !endpoint.in_local : !endpoint.in_cluster) continue;
    out += (out.empty() ? "" : ", ") +
           base::host_port(base::IpAddress::from_bytes(port.family, endpoint.address.data()), endpoint.port);
  }
  return out;
}

std::string line(const std::string& name, const ServicePort& port, const Frontend& frontend) {
  const bool internal = frontend.kind == FrontendKind::cluster_ip;
  const bool local_policy = internal ? port.internal_local : port.external_local;
  const std::string list = endpoint_list(port, local_policy);
  // Pods of this node and the node itself are inside of the cluster, whatever address they use.
  const std::string inside = local_policy && !internal ? endpoint_list(port, false) : std::string();
  const bool served = !list.empty() || !inside.empty();

  std::string out = name + " ";
  out += frontend.kind == FrontendKind::node_port ? ":" + std::to_string(frontend.port)
                                                  : base::host_port(frontend.address, frontend.port);
  out += protocol_suffix(port.key.protocol);
  if (served && port.affinity_seconds != 0) out += " sticky for " + std::to_string(port.affinity_seconds) + " s";
  if (served && !internal && !local_policy) out += " masqueraded";
  if (!list.empty()) out += " -> " + list;
  if (!inside.empty()) out += (list.empty() ? " from this node -> " : "; from this node -> ") + inside;
  if (list.empty()) {
    out += served ? "; else " : " -> ";
    out += local_policy && port.has_any_endpoint ? "dropped, no endpoints on this node" : "rejected, no endpoints";
  }
  if (frontend.kind == FrontendKind::load_balancer && !port.source_ranges.empty()) {
    std::string ranges;
    for (const auto& range : port.source_ranges) ranges += (ranges.empty() ? "; only for " : ", ") + range.to_string();
    out += ranges;
  }
  return out;
}

}  // namespace

std::vector<std::string> told_lines(std::vector<snapshot::ServicePortPtr> ports, std::string_view name) {
  std::vector<std::pair<std::string, snapshot::ServicePortPtr>> chosen;
  for (auto& port : ports) {
    std::string printed = port->key.to_string();
    if (!name.empty() && name != printed && name != port->key.service.to_string()) continue;
    chosen.emplace_back(std::move(printed), std::move(port));
  }
  std::sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->key < b.second->key;
  });
  std::vector<std::string> out;
  for (const auto& [printed, port] : chosen) {
    for (const Frontend& frontend : port->frontends) out.push_back(line(printed, *port, frontend));
  }
  return out;
}

}  // namespace sluice::app
