// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// core/v1 Service (BEH 1.2, 2.2).

#include <algorithm>
#include <chrono>
#include <optional>

#include "core/kube/decode/decode_object.hpp"
#include "lib/protocol.hpp"
#include "lib/rfc3339.hpp"
#include "lib/text.hpp"

namespace sluice::kube {
namespace {

constexpr std::uint32_t kDefaultAffinitySeconds = 10800;
constexpr std::int64_t kMaxAffinitySeconds = 86400;

model::ServiceType read_type(const JsonField& type) {
  const std::string_view text = type.text();
  if (text.empty() || text == "ClusterIP") return model::ServiceType::cluster_ip;
  if (text == "NodePort") return model::ServiceType::node_port;
  if (text == "LoadBalancer") return model::ServiceType::load_balancer;
  if (text == "ExternalName") return model::ServiceType::external_name;
  type.fail(in_quotes(text) + " is not a type of Service (ClusterIP, NodePort, LoadBalancer, ExternalName)");
  return model::ServiceType::cluster_ip;
}

void add_cluster_ip(const JsonField& field, std::optional<lib::Family> family, model::Service& out) {
  const auto address = lib::IpAddress::parse(field.text());
  if (!address) {
    field.fail(in_quotes(field.text()) + " is not an IP address");
  } else if (const auto special = address->special_kind(); !special.empty()) {
    field.fail(address->to_string() + " is a special address (" + std::string(special) +
               "), which no Service can have");
  } else if (family && address->family() != *family) {
    field.fail(address->to_string() + " is not an " + std::string(lib::family_name(*family)) +
               " address, as spec.ipFamilies says at the same place");
  } else if (std::any_of(out.cluster_ips.begin(), out.cluster_ips.end(),
                         [&](const auto& other) { return other.family() == address->family(); })) {
    field.fail("a second " + std::string(lib::family_name(address->family())) +
               " address; a Service has at most one of each family");
  } else {
    out.cluster_ips.push_back(*address);
  }
}

// The families in the order of spec.ipFamilies; empty if the server is too old to set it.
std::vector<lib::Family> read_families(const JsonField& families) {
  std::vector<lib::Family> out;
  families.each([&](const JsonField& family) {
    const std::string_view text = family.text();
    if (text == "IPv4") {
      out.push_back(lib::Family::ipv4);
    } else if (text == "IPv6") {
      out.push_back(lib::Family::ipv6);
    } else {
      family.fail(in_quotes(text) + " is not an IP family (IPv4, IPv6)");
    }
  });
  return out;
}

void read_cluster_ips(const JsonField& spec, model::Service& out) {
  const JsonField single = spec.get("clusterIP");
  const JsonField many = spec.get("clusterIPs");
  const JsonField families_field = spec.get("ipFamilies");
  const auto families = read_families(families_field);
  out.headless = single.text() == "None";

  std::size_t index = 0;
  many.each([&](const JsonField& field) {
    if (field.text() == "None") {
      out.headless = true;
    } else if (!out.headless && (families.empty() || index < families.size())) {
      add_cluster_ip(field, families.empty() ? std::nullopt : std::optional(families[index]), out);
    }
    ++index;
  });
  if (index == 0 && !out.headless && !single.text().empty()) add_cluster_ip(single, std::nullopt, out);
  if (out.headless) out.cluster_ips.clear();
}

void read_port(const JsonField& entry, model::Service& out) {
  const JsonField name = entry.get("name");
  const JsonField protocol = entry.get("protocol");
  const JsonField port = entry.get("port");
  const JsonField node_port = entry.get("nodePort");

  model::ServicePortSpec spec;
  const std::string_view name_text = name.text();
  if (!name_text.empty() && !is_dns_label(name_text)) name.fail(in_quotes(name_text) + " is not the name of a port");
  spec.name = base::Symbol(name_text);
  if (protocol.present() && !protocol.text().empty() && !lib::parse_upper_protocol(protocol.text(), spec.protocol)) {
    protocol.fail(in_quotes(protocol.text()) + " is not a protocol (TCP, UDP, SCTP)");
  }
  spec.port = port.port(false);
  if (!port.present()) port.fail("is missing");
  spec.node_port = node_port.port(true);

  for (const auto& other : out.ports) {
    if (other.protocol != spec.protocol) continue;
    if (other.port == spec.port) {
      port.fail(std::to_string(spec.port) + " occurs twice for the same protocol");
    } else if (other.name == spec.name) {
      name.fail(name_text.empty() ? "is missing; with several ports each needs a name"
                                  : in_quotes(name_text) + " occurs twice for the same protocol");
    }
  }
  out.ports.push_back(spec);
}

std::uint32_t read_affinity(const JsonField& spec) {
  const JsonField affinity = spec.get("sessionAffinity");
  const std::string_view text = affinity.text();
  if (text.empty() || text == "None") return 0;
  if (text != "ClientIP") {
    affinity.fail(in_quotes(text) + " is not a session affinity (None, ClientIP)");
    return 0;
  }
  const JsonField config = spec.get("sessionAffinityConfig");
  const JsonField client_ip = config.get("clientIP");
  const JsonField timeout = client_ip.get("timeoutSeconds");
  const auto seconds = timeout.integer();
  if (!seconds) return kDefaultAffinitySeconds;
  if (*seconds < 1 || *seconds > kMaxAffinitySeconds) {
    timeout.fail(std::to_string(*seconds) + " is not a number of seconds from 1 to " +
                 std::to_string(kMaxAffinitySeconds));
    return 0;
  }
  return static_cast<std::uint32_t>(*seconds);
}

// A policy this version does not know counts as Cluster, as in kube-proxy.
bool read_local(const JsonField& policy, const DecodeContext& context) {
  const std::string_view text = policy.text();
  if (text == "Local") return true;
  if (!text.empty() && text != "Cluster") {
    context.note(policy, in_quotes(text) + " is not a traffic policy (Cluster, Local); taken as Cluster");
  }
  return false;
}

void read_source_ranges(const JsonField& ranges, model::Service& out) {
  ranges.each([&](const JsonField& range) {
    const auto prefix = lib::IpPrefix::parse(lib::trimmed(range.text()));
    if (prefix) {
      out.source_ranges.push_back(*prefix);
    } else {
      // Ignoring a range could leave an empty list, which would allow every client.
      range.fail(in_quotes(range.text()) + " is not an IP prefix (such as 192.0.2.0/24)");
    }
  });
}

// The API server rejects the same special addresses as external IPs. A load balancer may have a link-local one.
void add_external(const JsonField& ip, bool link_local, const DecodeContext& context,
                  std::vector<lib::IpAddress>& out) {
  const auto address = lib::IpAddress::parse(ip.text());
  const std::string_view special = address ? address->special_kind() : std::string_view();
  if (!address) {
    context.note(ip, in_quotes(ip.text()) + " is not an IP address; ignored");
  } else if (!special.empty() && !(link_local && special == "link-local")) {
    context.note(ip, in_quotes(ip.text()) + " is a special address (" + std::string(special) + "); ignored");
  } else {
    out.push_back(*address);
  }
}

void read_ingress(const JsonField& ingress, const DecodeContext& context, model::Service& out) {
  ingress.each([&](const JsonField& entry) {
    const JsonField ip = entry.get("ip");
    const JsonField mode = entry.get("ipMode");
    if (ip.text().empty()) return;                       // host name only
    if (mode.present() && mode.text() != "VIP") return;  // the load balancer sends traffic to nodes or endpoints
    add_external(ip, true, context, out.load_balancer_ips);
  });
}

}  // namespace

KindResult decode_service(const JsonField& root, const JsonField& metadata, const DecodeContext& context) {
  model::Service out;
  out.name = context.name;
  const JsonField created = metadata.get("creationTimestamp");
  if (const auto at = lib::parse_rfc3339(created.text())) {
    out.created = std::chrono::duration_cast<std::chrono::seconds>(at->time_since_epoch()).count();
  }
  const JsonField spec = root.get("spec");
  const JsonField type = spec.get("type");
  out.type = read_type(type);
  // A proxy needs nothing else of an ExternalName Service.
  if (out.type == model::ServiceType::external_name) return out;

  read_cluster_ips(spec, out);
  const JsonField ports = spec.get("ports");
  ports.each([&](const JsonField& port) { read_port(port, out); });
  decode_service_details(metadata, ports, context, out);
  out.affinity_seconds = read_affinity(spec);

  const JsonField external_ips = spec.get("externalIPs");
  external_ips.each([&](const JsonField& ip) { add_external(ip, false, context, out.external_ips); });
  const JsonField source_ranges = spec.get("loadBalancerSourceRanges");
  read_source_ranges(source_ranges, out);
  const JsonField internal_policy = spec.get("internalTrafficPolicy");
  out.internal_local = read_local(internal_policy, context);
  const JsonField external_policy = spec.get("externalTrafficPolicy");
  out.external_local = read_local(external_policy, context);
  const JsonField health_port = spec.get("healthCheckNodePort");
  out.health_check_node_port = health_port.port(true);

  const JsonField status = root.get("status");
  const JsonField balancer = status.get("loadBalancer");
  const JsonField ingress = balancer.get("ingress");
  read_ingress(ingress, context, out);
  return out;
}

}  // namespace sluice::kube
