// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/recording/encode.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/protocol.hpp"
#include "lib/rfc3339.hpp"
#include "lib/text.hpp"

namespace sluice::kube {
namespace {

// Keeps fields in insertion order, for readers.
using Json = nlohmann::ordered_json;

const char* type_text(model::ServiceType type) {
  switch (type) {
    case model::ServiceType::cluster_ip: return "ClusterIP";
    case model::ServiceType::node_port: return "NodePort";
    case model::ServiceType::load_balancer: return "LoadBalancer";
    case model::ServiceType::external_name: return "ExternalName";
  }
  return "ClusterIP";
}

Json head(model::ResourceKind kind, const model::ObjectName& name) {
  Json out;
  out["apiVersion"] = std::string(model::resource_api_version(kind));
  out["kind"] = std::string(model::resource_kind_name(kind));
  Json& metadata = out["metadata"];
  metadata["name"] = name.name;
  if (!name.name_space.empty()) metadata["namespace"] = std::string(name.name_space.text());
  return out;
}

template <class Range>
Json texts(const Range& items) {
  Json out = Json::array();
  for (const auto& value : items) out.push_back(value.to_string());
  return out;
}

template <class Range>
void set_texts(Json& object, const char* field, const Range& items) {
  if (!items.empty()) object[field] = texts(items);
}

// ---- Service ----

Json service_ports(const std::vector<model::ServicePortSpec>& ports) {
  Json out = Json::array();
  for (const auto& port : ports) {
    Json entry;
    if (!port.name.empty()) entry["name"] = std::string(port.name.text());
    entry["protocol"] = lib::upper_protocol_name(port.protocol);
    entry["port"] = port.port;
    if (port.node_port != 0) entry["nodePort"] = port.node_port;
    out.push_back(std::move(entry));
  }
  return out;
}

void set_cluster_ips(Json& spec, const model::Service& service) {
  if (service.headless) {
    spec["clusterIP"] = "None";
  } else if (!service.cluster_ips.empty()) {
    spec["clusterIP"] = service.cluster_ips.front().to_string();
    spec["clusterIPs"] = texts(service.cluster_ips);
  }
}

Json service_spec(const model::Service& service) {
  Json spec;
  spec["type"] = type_text(service.type);
  set_cluster_ips(spec, service);
  if (!service.ports.empty()) spec["ports"] = service_ports(service.ports);
  if (service.affinity_seconds != 0) {
    spec["sessionAffinity"] = "ClientIP";
    spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"] = service.affinity_seconds;
  }
  set_texts(spec, "externalIPs", service.external_ips);
  set_texts(spec, "loadBalancerSourceRanges", service.source_ranges);
  if (service.internal_local) spec["internalTrafficPolicy"] = "Local";
  if (service.external_local) spec["externalTrafficPolicy"] = "Local";
  if (service.health_check_node_port != 0) spec["healthCheckNodePort"] = service.health_check_node_port;
  return spec;
}

Json to_json(const model::Service& service) {
  Json out = head(model::ResourceKind::service, service.name);
  if (service.created != 0) {
    const std::chrono::system_clock::time_point at{std::chrono::seconds(service.created)};
    out["metadata"]["creationTimestamp"] = lib::rfc3339(at, lib::Fraction::nanoseconds_or_none);
  }
  out["spec"] = service_spec(service);
  for (const auto& ip : service.load_balancer_ips) {
    out["status"]["loadBalancer"]["ingress"].push_back({{"ip", ip.to_string()}, {"ipMode", "VIP"}});
  }
  return out;
}

// ---- EndpointSlice ----

Json slice_ports(const std::vector<model::SlicePort>& ports) {
  Json out = Json::array();
  for (const auto& port : ports) {
    // An empty name is written, because a port without a name has another meaning.
    out.push_back({{"name", std::string(port.name.text())},
                   {"protocol", lib::upper_protocol_name(port.protocol)},
                   {"port", port.port}});
  }
  return out;
}

Json hints(base::Symbol packed) {
  Json out = Json::array();
  std::string_view rest = packed.text();
  while (!rest.empty()) out.push_back({{"name", std::string(lib::take_part(rest, '\n'))}});
  return out;
}

Json endpoint(const model::SliceEndpoint& from, lib::Family family) {
  Json out;
  out["addresses"] = Json::array({lib::IpAddress::from_bytes(family, from.address.data()).to_string()});
  Json& conditions = out["conditions"];
  conditions["ready"] = from.ready;
  if (!from.serving) conditions["serving"] = false;
  if (from.terminating) conditions["terminating"] = true;
  if (!from.node.empty()) out["nodeName"] = std::string(from.node.text());
  if (!from.zone_hints.empty()) out["hints"]["forZones"] = hints(from.zone_hints);
  if (!from.node_hints.empty()) out["hints"]["forNodes"] = hints(from.node_hints);
  return out;
}

Json to_json(const model::EndpointSlice& slice) {
  Json out = head(model::ResourceKind::endpoint_slice, slice.name);
  Json& metadata = out["metadata"];
  metadata["labels"]["kubernetes.io/service-name"] = slice.service.name;
  if (slice.trigger_time) {
    metadata["annotations"]["endpoints.kubernetes.io/last-change-trigger-time"] =
        lib::rfc3339(*slice.trigger_time, lib::Fraction::nanoseconds_or_none);
  }
  out["addressType"] = std::string(lib::family_name(slice.family));
  out["ports"] = slice_ports(slice.ports);
  Json& endpoints = out["endpoints"] = Json::array();
  for (const auto& one : slice.endpoints) endpoints.push_back(endpoint(one, slice.family));
  return out;
}

// ---- Node ----

void add_addresses(Json& out, const char* type, const std::vector<lib::IpAddress>& addresses) {
  for (const auto& address : addresses) out.push_back({{"type", type}, {"address", address.to_string()}});
}

Json to_json(const model::Node& node) {
  Json out = head(model::ResourceKind::node, {base::Symbol(), node.name});
  if (!node.zone.empty()) out["metadata"]["labels"]["topology.kubernetes.io/zone"] = node.zone;
  set_texts(out["spec"] = Json::object(), "podCIDRs", node.pod_cidrs);
  // Also used for a Node that is being deleted; the effect is the same.
  if (node.leaving) {
    out["spec"]["taints"].push_back({{"key", "ToBeDeletedByClusterAutoscaler"}, {"effect", "NoSchedule"}});
  }
  Json& addresses = out["status"]["addresses"] = Json::array();
  add_addresses(addresses, "InternalIP", node.internal_ips);
  add_addresses(addresses, "ExternalIP", node.external_ips);
  return out;
}

// ---- ServiceCIDR ----

Json to_json(const model::ServiceCidr& service_cidr) {
  Json out = head(model::ResourceKind::service_cidr, {base::Symbol(), service_cidr.name});
  out["spec"]["cidrs"] = texts(service_cidr.cidrs);
  return out;
}

// Decoded text is valid UTF-8; if not, replace invalid characters instead of throwing.
std::string text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string encode_object(const Object& object) {
  return std::visit([](const auto& value) { return text(to_json(value)); }, object);
}

std::string encode_reference(model::ResourceKind kind, const model::ObjectName& name) { return text(head(kind, name)); }

}  // namespace sluice::kube
