// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/common/world.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sluice/sdk/address.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::test {

abi::StringView World::keep(const std::string& text) { return sdk::view(texts_.emplace_back(text)); }

abi::Address World::address(const std::string& text) const {
  const auto parsed = sdk::parse_address(text, family_);
  if (!parsed) throw std::invalid_argument("no address: " + text);
  return *parsed;
}

abi::Prefix World::prefix(const std::string& text) const {
  abi::Prefix made{};
  const std::size_t slash = text.find('/');
  made.address = address(text.substr(0, slash));
  made.length = static_cast<std::uint8_t>(std::stoi(text.substr(slash + 1)));
  return made;
}

abi::ServicePortKey World::key(const ServiceSpec& spec) {
  abi::ServicePortKey made{};
  made.service_namespace = keep(spec.namespace_name);
  made.service_name = keep(spec.name);
  made.port_name = keep(spec.port_name);
  made.protocol = spec.protocol;
  return made;
}

void World::sort_by_text(std::vector<abi::Endpoint>& endpoints) const {
  std::vector<std::pair<std::string, abi::Endpoint>> texts;
  for (const abi::Endpoint& one : endpoints) texts.emplace_back(sdk::host_port(one.address, family_, one.port), one);
  std::stable_sort(texts.begin(), texts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < texts.size(); ++i) endpoints[i] = texts[i].second;
}

abi::ServicePort World::service(const ServiceSpec& spec) {
  abi::ServicePort port{};
  port.key = key(spec);
  port.affinity_seconds = spec.affinity_seconds;
  port.health_check_node_port = spec.health_check_node_port;

  std::vector<abi::Frontend>& frontends = frontends_.emplace_back();
  const auto add = [&](abi::FrontendKind kind, const abi::Address& where, std::uint16_t number) {
    abi::Frontend frontend{};
    frontend.address = where;
    frontend.port = number;
    frontend.kind = kind;
    frontends.push_back(frontend);
  };
  add(abi::FrontendKind::kClusterIp, address(spec.cluster_ip), spec.port);
  for (const std::string& ip : spec.external_ips) add(abi::FrontendKind::kExternalIp, address(ip), spec.port);
  for (const std::string& ip : spec.vips) add(abi::FrontendKind::kLoadBalancer, address(ip), spec.port);
  if (spec.node_port != 0) add(abi::FrontendKind::kNodePort, {}, spec.node_port);
  port.frontends = sdk::array(frontends.data(), frontends.size());

  std::vector<abi::Prefix>& ranges = ranges_.emplace_back();
  for (const std::string& range : spec.source_ranges) ranges.push_back(prefix(range));
  port.source_ranges = sdk::array(ranges.data(), ranges.size());

  const bool external = frontends.size() > 1;
  const bool uses_cluster = !spec.internal_local || external;
  const bool uses_local = spec.internal_local || (spec.external_local && external);
  const auto any = [&](Condition condition, bool only_local) {
    return std::any_of(spec.endpoints.begin(), spec.endpoints.end(), [&](const EndpointSpec& e) {
      return e.condition == condition && (e.local || !only_local);
    });
  };
  const Condition in_cluster = any(Condition::kReady, false) ? Condition::kReady : Condition::kTerminating;
  const Condition in_local = any(Condition::kReady, true) ? Condition::kReady : Condition::kTerminating;
  std::vector<abi::Endpoint>& endpoints = endpoints_.emplace_back();
  bool has_any = false;
  for (const EndpointSpec& e : spec.endpoints) {
    abi::Endpoint endpoint{};
    endpoint.address = address(e.address);
    endpoint.port = e.port;
    unsigned flags = e.local ? unsigned{abi::kEndpointOnThisNode} : 0u;
    if (e.condition == Condition::kReady) flags |= abi::kEndpointReady | abi::kEndpointServing;
    if (e.condition == Condition::kTerminating) flags |= abi::kEndpointServing | abi::kEndpointTerminating;
    if (e.condition == Condition::kGone) flags |= abi::kEndpointTerminating;
    if (uses_cluster && e.condition == in_cluster) flags |= abi::kEndpointInCluster;
    if (uses_local && e.local && e.condition == in_local) flags |= abi::kEndpointInLocal;
    has_any = has_any || e.condition != Condition::kGone;
    endpoint.flags = static_cast<std::uint16_t>(flags);
    endpoints.push_back(endpoint);
  }
  sort_by_text(endpoints);
  port.endpoints = sdk::array(endpoints.data(), endpoints.size());

  const auto flag = [&](bool on, abi::ServicePortFlag which) { port.flags |= on ? unsigned{which} : 0u; };
  flag(spec.internal_local, abi::kInternalPolicyLocal);
  flag(spec.external_local && external, abi::kExternalPolicyLocal);
  flag(uses_cluster, abi::kUsesClusterEndpoints);
  flag(uses_local, abi::kUsesLocalEndpoints);
  flag(has_any, abi::kHasAnyEndpoint);
  flag(spec.affinity_seconds != 0, abi::kSessionAffinity);
  return port;
}

const abi::NodeFacts& World::node(const NodeSpec& spec) {
  abi::NodeFacts& facts = nodes_.emplace_back();
  facts = {};
  facts.struct_size = sizeof(facts);
  facts.flags = spec.flags;
  facts.version = spec.version;
  facts.name = keep("node-a");
  facts.node_ip = address(spec.ip);
  facts.masquerade_mark = spec.mark;
  facts.detector = spec.detector;
  if (spec.detector == abi::LocalDetectorKind::kCidr) facts.detector_cidr = prefix(spec.detector_cidr);
  facts.detector_interface = keep(spec.detector_interface);
  std::vector<abi::Address>& addresses = addresses_.emplace_back();
  for (const std::string& text : spec.node_port_addresses) addresses.push_back(address(text));
  facts.node_port_addresses = sdk::array(addresses.data(), addresses.size());
  std::vector<abi::Address>& local = addresses_.emplace_back();
  for (const std::string& text : spec.local_addresses) local.push_back(address(text));
  facts.local_addresses = sdk::array(local.data(), local.size());
  std::vector<abi::Prefix>& cidrs = ranges_.emplace_back();
  for (const std::string& text : spec.service_cidrs) cidrs.push_back(prefix(text));
  facts.service_cidrs = sdk::array(cidrs.data(), cidrs.size());
  return facts;
}

const abi::Transaction& World::full(const std::vector<ServiceSpec>& services, std::uint64_t generation,
                                    const NodeSpec& node_spec) {
  abi::Transaction made = delta(services, {}, generation, node_spec);
  made.kind = abi::TransactionKind::kFull;
  made.base_generation = 0;
  return transactions_.emplace_back(made);
}

const abi::Transaction& World::delta(const std::vector<ServiceSpec>& changed, const std::vector<ServiceSpec>& removed,
                                     std::uint64_t generation, const NodeSpec& node_spec) {
  abi::Transaction made{};
  made.struct_size = sizeof(made);
  made.kind = abi::TransactionKind::kDelta;
  made.base_generation = generation - 1;
  made.generation = generation;
  made.node = &node(node_spec);
  std::vector<abi::ServicePort>& ports = services_.emplace_back();
  for (const ServiceSpec& spec : changed) ports.push_back(service(spec));
  made.service_ports = sdk::array(ports.data(), ports.size());
  std::vector<abi::ServicePortKey>& keys = keys_.emplace_back();
  for (const ServiceSpec& spec : removed) keys.push_back(key(spec));
  made.removed = sdk::array(keys.data(), keys.size());
  return transactions_.emplace_back(made);
}

std::vector<ServiceSpec> many_services(std::size_t count, std::size_t endpoints, abi::Family family) {
  const bool ipv6 = family == abi::Family::kIpv6;
  std::vector<ServiceSpec> services(count);
  for (std::size_t i = 0; i < count; ++i) {
    ServiceSpec& service = services[i];
    const auto bytes = [i](const std::string& before) {
      return before + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1);
    };
    service.namespace_name = "bench";
    service.name = "svc-" + std::to_string(i);
    service.cluster_ip = ipv6 ? "fd00:1::" + std::to_string(i + 1) : bytes("172.30.");
    for (std::size_t e = 0; e < endpoints; ++e) {
      const std::size_t host = i * endpoints + e;
      service.endpoints.push_back(
          {ipv6 ? "fd00:2::" + std::to_string(host / 9000) + ":" + std::to_string(host % 9000 + 1)
                : "10." + std::to_string(host / 62500) + "." + std::to_string(host / 250 % 250) + "." +
                      std::to_string(host % 250 + 1),
           8080, e == 0, Condition::kReady});
    }
  }
  return services;
}

}  // namespace sluice::test
