// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/store/resolve.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/store/frontends.hpp"
#include "lib/protocol.hpp"

namespace sluice::store {
namespace {

constexpr std::size_t kMostNamed = 4;  // frontends named in one message

std::string describe(const Frontend& frontend, model::Protocol protocol) {
  const bool node_port = frontend.kind == FrontendKind::node_port;
  return (node_port ? "node port " + std::to_string(frontend.port) : lib::host_port(frontend.address, frontend.port)) +
         "/" + std::string(lib::protocol_name(protocol));
}

// Removes the frontends that belong to other Services. Returns the reason.
std::string withhold(const model::Service& service, const FrontendClaims& claims, ServicePort& port) {
  std::string out;
  std::size_t count = 0;
  std::erase_if(port.frontends, [&](const Frontend& frontend) {
    const bool reserved = frontend.kind == FrontendKind::external_ip && port.key.protocol == model::Protocol::tcp &&
                          std::binary_search(claims.reserved().begin(), claims.reserved().end(),
                                             lib::SocketAddress{frontend.address, frontend.port});
    const model::Service* holder = claims.holder({frontend.address, frontend.port, port.key.protocol});
    if (!reserved && (holder == nullptr || holder == &service)) return false;
    if (++count <= kMostNamed) {
      out += describe(frontend, port.key.protocol) +
             (reserved
                  ? " is where this node reaches the API server; use another port or address; "
                  : " belongs to Service " + holder->name.to_string() + "; give one of them another port or address; ");
    }
    return true;
  });
  if (count > kMostNamed) out += "and so do " + std::to_string(count - kMostNamed) + " more; ";
  if (!out.empty()) out.resize(out.size() - 2);
  return out;
}

// A prefix of length 0 in the family allows every client (BEH 1.2).
std::vector<lib::IpPrefix> ranges_of(const model::Service& service, lib::Family family) {
  std::vector<lib::IpPrefix> out;
  for (const auto& range : service.source_ranges) {
    if (range.family() != family) continue;
    if (range.length() == 0) return {};
    out.push_back(range);
  }
  return out;
}

std::size_t count_endpoints(const SliceCache::Matches& matches) {
  return std::accumulate(matches.begin(), matches.end(), std::size_t{0},
                         [](std::size_t sum, const auto& match) { return sum + match.slice->endpoints.size(); });
}

std::string too_large() {
  return "connections to its cluster IP are rejected, and its other addresses are not served: the ports of the Service "
         "have more "
         "than " +
         std::to_string(kMostFrontends) + " addresses, or more than " + std::to_string(kMostEndpoints) +
         " endpoints and source ranges in total; divide it among several Services";
}

bool has_external_ip(const model::Service& service, lib::Family family) {
  return std::any_of(service.external_ips.begin(), service.external_ips.end(),
                     [&](const auto& address) { return address.family() == family; });
}

// externalTrafficPolicy: Local only applies to Services that can receive external traffic (BEH 1.2). External IPs of
// either family count.
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

// Whether a backend needs it. All others take no connections and have none to drain.
bool delivered(const Candidate& c) { return c.in_cluster || c.in_local || c.local || (c.serving && c.terminating); }

// Keeps those that a backend or connection tracking needs.
void keep_endpoints(const std::vector<Candidate>& candidates, ServicePort& port) {
  const auto also_serving = [&](const Candidate& c) {
    return port.key.protocol == model::Protocol::udp && c.serving && !delivered(c);
  };
  const auto keep = [&](auto&& wanted, std::vector<Endpoint>& out) {
    // Exactly as much memory as it takes: a node holds every endpoint of the cluster.
    out.reserve(static_cast<std::size_t>(std::count_if(candidates.begin(), candidates.end(), wanted)));
    for (const Candidate& c : candidates) {
      if (wanted(c)) out.push_back(endpoint_of(c));
    }
  };
  keep(delivered, port.endpoints);
  keep(also_serving, port.also_serving);
}

EndpointDetails details_of(const Candidate& c) {
  EndpointDetails out;
  if (c.record != nullptr) out.node = c.record->node;
  if (c.details == nullptr) return out;
  out.zone = c.details->zone;
  out.pod = c.details->pod;
  return out;
}

// REQUIRES: keep_endpoints() was called with the same arguments.
void add_details(const model::Service& service, std::size_t index, const model::DetailsRequest& request,
                 const std::vector<Candidate>& candidates, ServicePort& port) {
  PortDetails out;
  const model::ServiceDetails* const known = service.details.get();
  if (request.services) {
    out.of_service = true;
    out.type = service.type;
    if (known != nullptr) out.uid = known->uid;
    if (known != nullptr && index < known->app_protocols.size()) out.app_protocol = known->app_protocols[index];
  }
  if (known != nullptr && !request.annotation_prefixes.empty()) {
    out.annotations = known->annotations_for(request.annotation_prefixes);
  }
  if (request.endpoints) {
    out.endpoints.reserve(port.endpoints.size());
    for (const Candidate& c : candidates) {
      if (delivered(c)) out.endpoints.push_back(details_of(c));
    }
  }
  if (out != PortDetails()) port.details = model::Shared(std::move(out));
}

// The unused part of the limits of one Service in one family.
class Room {
 public:
  bool take(std::size_t frontends, std::size_t endpoints) {
    if (frontends > frontends_ || endpoints > endpoints_) return false;
    frontends_ -= frontends;
    endpoints_ -= endpoints;
    return true;
  }

 private:
  std::size_t frontends_ = kMostFrontends;
  std::size_t endpoints_ = kMostEndpoints;
};

// Calls `take` for each port of the Service, in the order of the object, with all endpoints of its slices.
template <class Take>
void each_port(const model::Service& service, lib::Family family, const SliceCache& slices, const NodeView& node,
               const FrontendClaims* claims, Take take) {
  if (!has_service_ports(service, family)) return;
  const ServiceAddresses addresses(service, family, node.external_ips);
  const std::vector<lib::IpPrefix> ranges = ranges_of(service, family);
  const bool local_outside = external_local(service);
  const bool lists_external_ip = has_external_ip(service, family);
  const auto matches = slices.matches(service.name, family, service.ports);
  Room room;
  for (std::size_t i = 0; i < service.ports.size(); ++i) {
    const model::ServicePortSpec& spec = service.ports[i];
    const bool fits = room.take(addresses.size(), ranges.size() + count_endpoints(matches[i]));
    ServicePort port;
    port.key = {service.name, spec.name, spec.protocol};
    port.family = family;
    port.frontends = fits ? addresses.frontends(spec) : addresses.cluster_ips(spec);
    if (fits) port.source_ranges = ranges;
    port.affinity_seconds = service.affinity_seconds;
    port.internal_local = service.internal_local;
    port.external_local = local_outside;
    if (service.type == model::ServiceType::load_balancer && local_outside) {
      port.health_check_node_port = service.health_check_node_port;
    }
    // The port is external if it has any frontend beside the cluster IP. External IPs count even if they are not served
    // (BEH 1.2, 2.3).
    const bool external = port.frontends.size() > 1 || lists_external_ip;
    port.uses_cluster = !port.internal_local || external;
    port.uses_local = port.internal_local || (port.external_local && external);
    if (claims != nullptr) port.withheld = withhold(service, *claims, port);
    if (!fits) port.withheld += (port.withheld.empty() ? "" : "; ") + too_large();

    auto candidates = SliceCache::candidates(fits ? matches[i] : SliceCache::Matches(), node.name);
    port.has_any_endpoint = select_endpoints(candidates, {port.uses_cluster, port.uses_local, node.name, node.zone});
    keep_endpoints(candidates, port);
    if (node.details.any()) add_details(service, i, node.details, candidates, port);
    take(std::move(port), candidates);
  }
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

std::vector<ServicePort> resolve(const model::Service& service, lib::Family family, const SliceCache& slices,
                                 const NodeView& node, const FrontendClaims* claims) {
  std::vector<ServicePort> out;
  each_port(service, family, slices, node, claims,
            [&](ServicePort port, const std::vector<Candidate>& /*all*/) { out.push_back(std::move(port)); });
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return out;
}

std::vector<ExplainedPort> explain(const model::Service& service, lib::Family family, const SliceCache& slices,
                                   const NodeView& node, const FrontendClaims* claims) {
  std::vector<ExplainedPort> out;
  each_port(service, family, slices, node, claims, [&](ServicePort port, const std::vector<Candidate>& candidates) {
    ExplainedPort one{std::move(port), {}};
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
  });
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.port.key < b.port.key; });
  return out;
}

}  // namespace sluice::store
