// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Names and endpoint lists of a service port.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/abi/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::sdk {

// "namespace/name:port", or "namespace/name" for an unnamed port.
inline std::string service_port_name(const abi::ServicePortKey& key) {
  std::string name;
  name.append(text(key.service_namespace)).append("/").append(text(key.service_name));
  if (key.port_name.size != 0) name.append(":").append(text(key.port_name));
  return name;
}

// The inverse of service_port_name(). The key refers to `name`. Kubernetes names contain neither "/" nor ":".
inline abi::ServicePortKey parse_service_port_name(std::string_view name, abi::Protocol protocol) noexcept {
  const std::size_t slash = name.find('/');
  const std::size_t colon = slash == std::string_view::npos ? slash : name.find(':', slash);
  abi::ServicePortKey key{};
  key.protocol = protocol;
  key.service_namespace = view(name.substr(0, slash));
  if (slash == std::string_view::npos) return key;
  key.service_name = view(name.substr(slash + 1, colon == std::string_view::npos ? colon : colon - slash - 1));
  if (colon != std::string_view::npos) key.port_name = view(name.substr(colon + 1));
  return key;
}

// "tcp", "udp", "sctp"; empty for a protocol added later.
inline std::string_view protocol_name(abi::Protocol protocol) noexcept {
  switch (protocol) {
    case abi::Protocol::kTcp: return "tcp";
    case abi::Protocol::kUdp: return "udp";
    case abi::Protocol::kSctp: return "sctp";
  }
  return {};
}

// Unique within a family, unlike the printed name: "namespace/name:port/tcp".
inline std::string service_port_id(const abi::ServicePortKey& key) {
  return service_port_name(key).append("/").append(protocol_name(key.protocol));
}

inline bool equal(const abi::ServicePortKey& a, const abi::ServicePortKey& b) noexcept {
  return a.protocol == b.protocol && text(a.service_namespace) == text(b.service_namespace) &&
         text(a.service_name) == text(b.service_name) && text(a.port_name) == text(b.port_name);
}

inline bool has(const abi::ServicePort& port, abi::ServicePortFlag flag) noexcept { return (port.flags & flag) != 0; }
inline bool has(const abi::Endpoint& endpoint, abi::EndpointFlag flag) noexcept { return (endpoint.flags & flag) != 0; }

inline Range<abi::Frontend> frontends(const abi::ServicePort& port) noexcept {
  return range<abi::Frontend>(port.frontends);
}
inline Range<abi::Endpoint> endpoints(const abi::ServicePort& port) noexcept {
  return range<abi::Endpoint>(port.endpoints);
}
inline Range<abi::Prefix> source_ranges(const abi::ServicePort& port) noexcept {
  return range<abi::Prefix>(port.source_ranges);
}

// Whether this SDK knows the kind. Backends must ignore frontends of kinds that were added later.
inline bool is_known(abi::FrontendKind kind) noexcept {
  switch (kind) {
    case abi::FrontendKind::kClusterIp:
    case abi::FrontendKind::kExternalIp:
    case abi::FrontendKind::kLoadBalancer:
    case abi::FrontendKind::kNodePort: return true;
  }
  return false;
}

inline std::vector<abi::Frontend> frontends_of(const abi::ServicePort& port, abi::FrontendKind kind) {
  std::vector<abi::Frontend> found;
  for (const abi::Frontend& frontend : frontends(port)) {
    if (frontend.kind == kind) found.push_back(frontend);
  }
  return found;
}

inline std::vector<abi::Endpoint> endpoints_with(const abi::ServicePort& port, abi::EndpointFlag flag) {
  std::vector<abi::Endpoint> found;
  for (const abi::Endpoint& endpoint : endpoints(port)) {
    if (has(endpoint, flag)) found.push_back(endpoint);
  }
  return found;
}

// The Cluster list and the Local list; abi::Frontend documents which one a frontend uses.
inline std::vector<abi::Endpoint> cluster_endpoints(const abi::ServicePort& port) {
  return endpoints_with(port, abi::kEndpointInCluster);
}
inline std::vector<abi::Endpoint> local_endpoints(const abi::ServicePort& port) {
  return endpoints_with(port, abi::kEndpointInLocal);
}

}  // namespace sluice::sdk
