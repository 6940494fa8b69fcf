// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/snapshot/flatten.hpp"

#include <cstring>

namespace sluice::snapshot {
namespace {

abi::StringView view(std::string_view text) { return {text.data(), text.size()}; }

abi::Address address(const lib::IpAddress& from) {
  abi::Address out{};
  std::memcpy(out.bytes, from.bytes().data(), sizeof out.bytes);
  return out;
}

abi::Prefix prefix(const lib::IpPrefix& from) {
  abi::Prefix out{};
  out.address = address(from.address());
  out.length = static_cast<std::uint8_t>(from.length());
  return out;
}

abi::ServicePortKey key(const store::ServicePortKey& from) {
  abi::ServicePortKey out{};
  out.service_namespace = view(from.service.name_space.text());
  out.service_name = view(from.service.name);
  out.port_name = view(from.port_name.text());
  out.protocol = static_cast<abi::Protocol>(from.protocol);
  return out;
}

abi::Endpoint endpoint(const store::Endpoint& from) {
  abi::Endpoint out{};
  std::memcpy(out.address.bytes, from.address.data(), sizeof out.address.bytes);
  out.port = from.port;
  const auto flag = [&](bool on, abi::EndpointFlag bit) {
    if (on) out.flags = static_cast<std::uint16_t>(out.flags | bit);
  };
  flag(from.in_cluster, abi::kEndpointInCluster);
  flag(from.in_local, abi::kEndpointInLocal);
  flag(from.local, abi::kEndpointOnThisNode);
  flag(from.ready, abi::kEndpointReady);
  flag(from.serving, abi::kEndpointServing);
  flag(from.terminating, abi::kEndpointTerminating);
  return out;
}

// FNV-1a and the final mix of SplitMix64. Other processes and nodes compute the same, so it must never change.
std::uint64_t session_key(std::string_view text) {
  std::uint64_t out = 0xcbf29ce484222325;
  for (const char c : text) out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  out = (out ^ (out >> 30)) * 0xbf58476d1ce4e5b9;
  out = (out ^ (out >> 27)) * 0x94d049bb133111eb;
  out ^= out >> 31;
  return out == 0 ? 1 : out;
}

abi::ServiceType service_type(model::ServiceType type) {
  switch (type) {
    case model::ServiceType::cluster_ip: return abi::ServiceType::kClusterIpService;
    case model::ServiceType::node_port: return abi::ServiceType::kNodePortService;
    case model::ServiceType::load_balancer: return abi::ServiceType::kLoadBalancerService;
    case model::ServiceType::external_name: break;  // has no service ports
  }
  return abi::ServiceType::kUnknownService;
}

abi::EndpointDetails endpoint_details(const store::EndpointDetails& from) {
  abi::EndpointDetails out{};
  out.node_name = view(from.node.text());
  out.zone = view(from.zone.text());
  if (from.pod) {
    out.pod_name = view(from.pod->name);
    out.pod_uid = view(from.pod->uid);
  }
  return out;
}

template <class T>
abi::ArrayView array(const T* data, std::size_t count) {
  return {count == 0 ? nullptr : data, count, sizeof(T), 0};
}

// Appends to a pool that never reallocates and returns the view of what was appended.
template <class T, class From, class Convert>
abi::ArrayView append(std::vector<T>& pool, const From& from, Convert convert) {
  const std::size_t first = pool.size();
  for (const auto& item : from) pool.push_back(convert(item));
  return array(pool.data() + first, pool.size() - first);
}

}  // namespace

FlatTransaction::FlatTransaction(const Transaction& from) {
  std::size_t frontends = 0;
  std::size_t endpoints = 0;
  std::size_t ranges = 0;
  std::size_t endpoint_details = 0;
  std::size_t annotations = 0;
  const model::Shared<model::Annotations>* last = nullptr;
  for (const auto& port : from.service_ports) {
    frontends += port->frontends.size();
    endpoints += port->endpoints.size();
    ranges += port->source_ranges.size();
    if (!port->details) continue;
    endpoint_details += port->details->endpoints.size();
    if (!port->details->annotations || (last != nullptr && *last == port->details->annotations)) continue;
    last = &port->details->annotations;
    annotations += (*last)->size();
  }
  frontends_.reserve(frontends);
  endpoints_.reserve(endpoints);
  ranges_.reserve(ranges);
  endpoint_details_.reserve(endpoint_details);
  annotations_.reserve(annotations);
  service_ports_.reserve(from.service_ports.size());
  for (const auto& port : from.service_ports) service_ports_.push_back(flatten(*port));
  removed_.reserve(from.removed.size());
  for (const auto& gone : from.removed) removed_.push_back(key(gone));
  flatten_node(from);

  transaction_.struct_size = sizeof transaction_;
  transaction_.kind = from.full ? abi::TransactionKind::kFull : abi::TransactionKind::kDelta;
  transaction_.base_generation = from.full ? 0 : from.base_generation;
  transaction_.generation = from.generation;
  transaction_.node = &node_;
  transaction_.service_ports = array(service_ports_.data(), service_ports_.size());
  transaction_.removed = array(removed_.data(), removed_.size());
}

void FlatTransaction::flatten_node(const Transaction& from) {
  const NodeFacts& facts = *from.node;
  node_.struct_size = sizeof node_;
  if (facts.node_ports_match_all) node_.flags |= abi::kNodePortsMatchAll;
  if (facts.node_ports_on_localhost) node_.flags |= abi::kNodePortsOnLocalhost;
  if (facts.masquerade_all) node_.flags |= abi::kMasqueradeAll;
  if (facts.conntrack_tcp_liberal) node_.flags |= abi::kConntrackTcpLiberal;
  node_.version = from.node_version;
  node_.name = view(facts.name);
  node_.node_ip = address(facts.node_ip);
  node_.masquerade_mark = facts.masquerade_mark;
  switch (facts.detector) {
    case DetectorKind::none: node_.detector = abi::LocalDetectorKind::kNone; break;
    case DetectorKind::cidr: node_.detector = abi::LocalDetectorKind::kCidr; break;
    case DetectorKind::bridge_interface: node_.detector = abi::LocalDetectorKind::kBridgeInterface; break;
    case DetectorKind::interface_prefix: node_.detector = abi::LocalDetectorKind::kInterfaceNamePrefix; break;
  }
  node_.detector_cidr = prefix(facts.detector_cidr);
  node_.detector_interface = view(facts.detector_interface);
  node_port_addresses_.reserve(facts.node_port_addresses.size());
  node_.node_port_addresses = append(node_port_addresses_, facts.node_port_addresses, address);
  local_addresses_.reserve(facts.local_addresses.size());
  node_.local_addresses = append(local_addresses_, facts.local_addresses, address);
  service_cidrs_.reserve(facts.service_cidrs.size());
  node_.service_cidrs = append(service_cidrs_, facts.service_cidrs, prefix);
}

abi::ServicePort FlatTransaction::flatten(const store::ServicePort& from) {
  abi::ServicePort out{};
  out.key = key(from.key);
  if (from.internal_local) out.flags |= abi::kInternalPolicyLocal;
  if (from.external_local) out.flags |= abi::kExternalPolicyLocal;
  if (from.uses_cluster) out.flags |= abi::kUsesClusterEndpoints;
  if (from.uses_local) out.flags |= abi::kUsesLocalEndpoints;
  if (from.has_any_endpoint) out.flags |= abi::kHasAnyEndpoint;
  if (from.affinity_seconds != 0) out.flags |= abi::kSessionAffinity;
  out.affinity_seconds = from.affinity_seconds;
  out.health_check_node_port = from.health_check_node_port;
  out.frontends = append(frontends_, from.frontends, [](const store::Frontend& f) {
    abi::Frontend frontend{};
    frontend.address = address(f.address);
    frontend.port = f.port;
    frontend.kind = static_cast<abi::FrontendKind>(f.kind);
    return frontend;
  });
  out.source_ranges = append(ranges_, from.source_ranges, prefix);
  out.endpoints = append(endpoints_, from.endpoints, endpoint);
  if (from.details) flatten_details(from, *from.details, out);
  return out;
}

void FlatTransaction::flatten_details(const store::ServicePort& from, const store::PortDetails& details,
                                      abi::ServicePort& out) {
  if (details.of_service) {
    out.service_type = service_type(details.type);
    out.app_protocol = view(details.app_protocol.text());
    if (details.uid) out.service_uid = view(*details.uid);
    out.session_key = session_key(details.uid ? *details.uid : from.key.service.to_string());
  }
  out.endpoint_details = append(endpoint_details_, details.endpoints, endpoint_details);
  if (!details.annotations) return;
  // Repeated for each port of a Service, they could take gigabytes.
  if (!(last_annotations_ == details.annotations)) {
    last_annotations_ = details.annotations;
    last_annotations_view_ = append(annotations_, *details.annotations, [](const model::Annotation& one) {
      return abi::Annotation{view(one.key), view(one.value)};
    });
  }
  out.annotations = last_annotations_view_;
}

}  // namespace sluice::snapshot
