// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/store/resolve.hpp"

#include <algorithm>
#include <utility>

#include "core/store/service_tracker.hpp"

namespace sluice::store {
namespace {

std::vector<Frontend> frontends_of(const model::Service& service, const model::ServicePortSpec& port,
                                   base::Family family, bool external_ips) {
  std::vector<Frontend> out;
  const auto add = [&](FrontendKind kind, const std::vector<base::IpAddress>& addresses) {
    for (const auto& address : addresses) {
      const Frontend frontend{kind, address, port.port};
      if (address.family() == family && std::find(out.begin(), out.end(), frontend) == out.end()) {
        out.push_back(frontend);
      }
    }
  };
  add(FrontendKind::cluster_ip, service.cluster_ips);
  if (external_ips) add(FrontendKind::external_ip, service.external_ips);
  add(FrontendKind::load_balancer, service.load_balancer_ips);
  if (port.node_port != 0) out.push_back({FrontendKind::node_port, base::IpAddress::any(family), port.node_port});
  return out;
}

// One prefix of length 0 in the family means that everybody may come (BEH 1.2).
std::vector<base::IpPrefix> ranges_of(const model::Service& service, base::Family family) {
  std::vector<base::IpPrefix> out;
  for (const auto& range : service.source_ranges) {
    if (range.family() != family) continue;
    if (range.length() == 0) return {};
    out.push_back(range);
  }
  return out;
}

bool has_external_ip(const model::Service& service, base::Family family) {
  return std::any_of(service.external_ips.begin(), service.external_ips.end(),
                     [&](const auto& address) { return address.family() == family; });
}

// Local applies only where external traffic can arrive at all (BEH 1.2). The raw list
// of external IPs counts, whatever its family.
bool external_local(const model::Service& service) {
  return service.external_local &&
         (service.type == model::ServiceType::load_balancer || service.type == model::ServiceType::node_port ||
          !service.external_ips.empty());
}

Endpoint endpoint_of(const Candidate& c) {
  Endpoint endpoint;
  endpoint.address = c.address;
  endpoint.port = c.port;
  endpoint.in_cluster = c.in_cluster;
  endpoint.in_local = c.in_local;
  endpoint.local = c.local;
  endpoint.ready = c.ready;
  endpoint.serving = c.serving;
  endpoint.terminating = c.terminating;
  return endpoint;
}

// All but the endpoints.
ServicePort policies_of(const model::Service& service, const model::ServicePortSpec& spec, base::Family family,
                        const NodeView& node) {
  ServicePort port;
  port.key = {service.name, spec.name, spec.protocol};
  port.family = family;
  port.frontends = frontends_of(service, spec, family, node.external_ips);
  port.source_ranges = ranges_of(service, family);
  port.affinity_seconds = service.affinity_seconds;
  port.internal_local = service.internal_local;
  port.external_local = external_local(service);
  if (service.type == model::ServiceType::load_balancer && port.external_local) {
    port.health_check_node_port = service.health_check_node_port;
  }
  // Anything beside the cluster IP makes it reachable from outside, and so do external
  // IPs that are not served (BEH 1.2, 2.3).
  const bool external = port.frontends.size() > 1 || has_external_ip(service, family);
  port.uses_cluster = !port.internal_local || external;
  port.uses_local = port.internal_local || (port.external_local && external);
  return port;
}

// All that the slices have for this service port, with what the policies make of it.
std::vector<Candidate> add_endpoints(ServicePort& port, const SliceCache& slices, const NodeView& node) {
  auto candidates = slices.candidates(port.key.service, port.family, port.key.port_name, port.key.protocol, node.name);
  port.has_any_endpoint = select_endpoints(candidates, {port.uses_cluster, port.uses_local, node.name, node.zone});
  for (const Candidate& c : candidates) {
    if (c.in_cluster || c.in_local || c.local || (c.serving && c.terminating)) {
      port.endpoints.push_back(endpoint_of(c));
    } else if (port.key.protocol == model::Protocol::udp && c.serving) {
      port.also_serving.push_back(endpoint_of(c));
    }  // The rest takes no connections, holds none worth draining and is not ours to know.
  }
  return candidates;
}

Use use_in_cluster_list(const Candidate& c, const ServicePort& port, TopologyMode topology) {
  if (!port.uses_cluster) return Use::not_asked;
  if (c.in_cluster) return c.ready ? Use::used : Use::used_while_terminating;
  if (!c.ready) return c.terminating ? (c.serving ? Use::others_are_ready : Use::terminating) : Use::not_ready;
  return topology == TopologyMode::same_node ? Use::hinted_to_other_nodes : Use::hinted_to_other_zones;
}

Use use_in_local_list(const Candidate& c, const ServicePort& port) {
  if (!port.uses_local) return Use::not_asked;
  if (c.in_local) return c.ready ? Use::used : Use::used_while_terminating;
  if (!c.local) return Use::not_on_this_node;
  return c.terminating ? (c.serving ? Use::others_are_ready : Use::terminating) : Use::not_ready;
}

}  // namespace

std::vector<ServicePort> resolve(const model::Service& service, base::Family family, const SliceCache& slices,
                                 const NodeView& node) {
  std::vector<ServicePort> out;
  if (!has_service_ports(service, family)) return out;
  out.reserve(service.ports.size());
  for (const auto& spec : service.ports) {
    ServicePort port = policies_of(service, spec, family, node);
    add_endpoints(port, slices, node);
    out.push_back(std::move(port));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return out;
}

std::vector<ExplainedPort> explain(const model::Service& service, base::Family family, const SliceCache& slices,
                                   const NodeView& node) {
  std::vector<ExplainedPort> out;
  if (!has_service_ports(service, family)) return out;
  for (const auto& spec : service.ports) {
    ExplainedPort one{policies_of(service, spec, family, node), {}};
    const auto candidates = add_endpoints(one.port, slices, node);
    const TopologyMode topology = topology_mode(candidates, node.name, node.zone);
    one.endpoints.reserve(candidates.size());
    for (const Candidate& c : candidates) {
      ExplainedEndpoint endpoint{endpoint_of(c),
                                 {},
                                 c.zone_hints,
                                 c.node_hints,
                                 use_in_cluster_list(c, one.port, topology),
                                 use_in_local_list(c, one.port)};
      if (c.record != nullptr) endpoint.node = c.record->node;
      one.endpoints.push_back(std::move(endpoint));
    }
    out.push_back(std::move(one));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.port.key < b.port.key; });
  return out;
}

}  // namespace sluice::store
