// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A service port with every Kubernetes policy applied, for one IP family on this node. This is what backends receive.
// Immutable once published.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/model/details.hpp"
#include "core/model/object_name.hpp"
#include "core/model/service.hpp"
#include "lib/ip.hpp"

namespace sluice::store {

struct ServicePortKey {
  model::ObjectName service;
  base::Symbol port_name;  // empty for an unnamed port
  model::Protocol protocol = model::Protocol::tcp;

  std::string to_string() const {
    return port_name.empty() ? service.to_string() : service.to_string() + ":" + std::string(port_name.text());
  }
  bool operator==(const ServicePortKey&) const = default;
  bool operator<(const ServicePortKey& other) const {
    if (const auto order = service <=> other.service; order != 0) return order < 0;
    const int order = port_name.text().compare(other.port_name.text());
    return order != 0 ? order < 0 : protocol < other.protocol;
  }
};

enum class FrontendKind : std::uint8_t { cluster_ip = 1, external_ip = 2, load_balancer = 3, node_port = 4 };

struct Frontend {
  FrontendKind kind = FrontendKind::cluster_ip;
  lib::IpAddress address;  // unspecified for a node port
  std::uint16_t port = 0;
  bool operator==(const Frontend&) const = default;
};

// 20 bytes: a node holds one for each endpoint of each service port in the cluster.
struct Endpoint {
  std::array<std::uint8_t, 16> address{};
  std::uint16_t port = 0;
  bool in_cluster : 1 = false;  // takes connections under policy Cluster
  bool in_local : 1 = false;    // takes connections under policy Local
  bool local : 1 = false;       // runs on this node
  bool ready : 1 = false;
  bool serving : 1 = false;
  bool terminating : 1 = false;
  bool operator==(const Endpoint&) const = default;
};

// Where an endpoint runs.
struct EndpointDetails {
  base::Symbol node;
  base::Symbol zone;
  model::Shared<model::Pod> pod;  // none: its target is no pod, or not known
  bool operator==(const EndpointDetails&) const = default;
};

// What a backend asks for and what does not affect traffic.
struct PortDetails {
  bool of_service = false;  // whether `type`, `uid` and `app_protocol` have values
  model::ServiceType type = model::ServiceType::cluster_ip;
  base::Symbol app_protocol;
  model::Shared<std::string> uid;
  model::Shared<model::Annotations> annotations;
  std::vector<EndpointDetails> endpoints;  // in the order of ServicePort::endpoints; empty: not asked for
  bool operator==(const PortDetails&) const = default;
};

struct ServicePort {
  ServicePortKey key;
  lib::Family family = lib::Family::ipv4;
  bool internal_local = false;
  bool external_local = false;
  bool uses_cluster = false;
  bool uses_local = false;
  bool has_any_endpoint = false;
  std::uint32_t affinity_seconds = 0;  // 0 = none
  std::uint16_t health_check_node_port = 0;
  std::vector<Frontend> frontends;
  std::vector<lib::IpPrefix> source_ranges;
  std::vector<Endpoint> endpoints;  // sorted by the text "ip:port"
  // UDP only: serving endpoints that take no connections from this node. Flows to them may have begun before a policy
  // or hint changed. Not delivered to backends.
  std::vector<Endpoint> also_serving;
  // Why the core withholds a part of the service port from backends; empty if it withholds nothing.
  std::string withheld;
  // Beside the endpoints, so that they take no memory where no backend asks for them. None: no backend does.
  model::Shared<PortDetails> details;
  bool operator==(const ServicePort&) const = default;
};

}  // namespace sluice::store
