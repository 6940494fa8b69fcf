// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A resolved service port: one (Service, port) pair for one IP family, with all
// Kubernetes policy already applied. A backend needs no knowledge beyond this.
#pragma once

#include "sluice/abi/types.hpp"

namespace sluice::abi {

// Fixed. The identity of a service port within one family. Printed as "namespace/name:port", or "namespace/name" for an
// unnamed port. The protocol is part of the identity, but not of the printed name.
struct ServicePortKey {
  StringView service_namespace;
  StringView service_name;
  StringView port_name;
  Protocol protocol;
  std::uint8_t reserved[7];
};
static_assert(sizeof(ServicePortKey) == 56 && offsetof(ServicePortKey, port_name) == 32 &&
              offsetof(ServicePortKey, protocol) == 48);

// A backend must ignore frontends of an unknown kind.
enum class FrontendKind : std::uint8_t {
  kClusterIp = 1,     // spec.clusterIPs of this family; one, or none if another Service has it
  kExternalIp = 2,    // spec.externalIPs
  kLoadBalancer = 3,  // status.loadBalancer.ingress[].ip with ipMode VIP
  kNodePort = 4,      // the address is all zero: see NodeFacts::node_port_addresses
};

// Growing. An address and port to which clients connect. The protocol is that of the key. Several frontends of one service
// port may have the same address and port, for example an external IP that is also the load balancer IP: the
// restrictions of all of them apply. A frontend that several Services list is passed with one of them only.
//
// The endpoints that receive new connections:
//   kClusterIp      The Local list with kInternalPolicyLocal, otherwise the Cluster list.
//   all others      With kExternalPolicyLocal the Local list, and the client address must be preserved; otherwise the
//                   Cluster list. Traffic from pods of this node (NodeFacts::detector) and from the node itself always
//                   uses the Cluster list, unless the data plane supports only one list for all clients.
//   kLoadBalancer   With ServicePort::source_ranges, traffic of clients outside of them must be dropped, including pods
//                   and the node; traffic of the node to the address is allowed if a range contains the node IP. The
//                   ranges do not apply to other kinds, in particular not to node ports.
// If the selected list is empty, connections must be rejected; or dropped, if it is the Local list and kHasAnyEndpoint is
// set. If there is no endpoint at all, clients outside of the ranges may be rejected, too.
struct Frontend {
  Address address;
  std::uint16_t port;
  FrontendKind kind;
  std::uint8_t reserved[5];
};
static_assert(sizeof(Frontend) == 24 && offsetof(Frontend, port) == 16 && offsetof(Frontend, kind) == 18);

// Flags of an Endpoint. An endpoint in neither list must not receive new connections. It is included because it may have
// established connections, or because it is local.
enum EndpointFlag : std::uint16_t {
  kEndpointInCluster = 1u << 0,    // member of the Cluster list
  kEndpointInLocal = 1u << 1,      // member of the Local list
  kEndpointOnThisNode = 1u << 2,   // its pod runs on this node
  kEndpointReady = 1u << 3,
  kEndpointServing = 1u << 4,
  kEndpointTerminating = 1u << 5,
};

// Growing.
struct Endpoint {
  Address address;
  std::uint16_t port;
  std::uint16_t flags;  // EndpointFlag
  std::uint32_t reserved;
};
static_assert(sizeof(Endpoint) == 24 && offsetof(Endpoint, port) == 16 && offsetof(Endpoint, flags) == 18);

// Growing. Since minor 1. More about the endpoint at the same index. Texts are empty if unknown.
struct EndpointDetails {
  StringView node_name;
  StringView zone;
  StringView pod_name;  // the target, if it is a pod; its namespace is that of the Service
  StringView pod_uid;
  std::uint32_t weight;  // relative share of new connections; 0: the same as other endpoints with 0. Only 0 so far
  std::uint32_t reserved;
};
static_assert(sizeof(EndpointDetails) == 72 && offsetof(EndpointDetails, zone) == 16 &&
              offsetof(EndpointDetails, pod_uid) == 48 && offsetof(EndpointDetails, weight) == 64);

// Growing. Since minor 1. An annotation of a Service.
struct Annotation {
  StringView key;
  StringView value;
};
static_assert(sizeof(Annotation) == 32 && offsetof(Annotation, value) == 16);

// Since minor 1. spec.type. An unknown value must be treated as kUnknownService.
enum class ServiceType : std::uint32_t {
  kUnknownService = 0,
  kClusterIpService = 1,
  kNodePortService = 2,
  kLoadBalancerService = 3,
};

// Flags of a ServicePort.
enum ServicePortFlag : std::uint32_t {
  kInternalPolicyLocal = 1u << 0,   // internalTrafficPolicy: Local
  kExternalPolicyLocal = 1u << 1,   // externalTrafficPolicy: Local, if it applies
  kUsesClusterEndpoints = 1u << 2,  // a frontend uses the Cluster list
  kUsesLocalEndpoints = 1u << 3,    // a frontend uses the Local list
  kHasAnyEndpoint = 1u << 4,        // the cluster has an endpoint; always set if one of the lists is not empty
  kSessionAffinity = 1u << 5,       // sessionAffinity: ClientIP
};

// Growing. Arrays are sorted: frontends by kind, then in the order of the Service; endpoints by the text "ip:port" (IPv6
// "[ip]:port") in byte order, as in kube-proxy.
struct ServicePort {
  ServicePortKey key;
  std::uint32_t flags;                   // ServicePortFlag
  std::uint32_t affinity_seconds;        // timeout after the last connection; 0 without kSessionAffinity
  std::uint16_t health_check_node_port;  // 0: none. The daemon listens there, so rules must accept its traffic
  std::uint8_t reserved[6];
  ArrayView frontends;      // Frontend
  ArrayView source_ranges;  // Prefix; empty: all clients may use the load balancer address
  ArrayView endpoints;      // Endpoint
  // Since minor 1. The next four have values only for a plugin with kFeatureServiceDetails.
  StringView service_uid;   // metadata.uid of the Service; empty if unknown
  StringView app_protocol;  // appProtocol of the port; empty: none
  // Equal for all ports, protocols and families of one Service object, also in other processes; another object of the
  // same name has another one. Not 0.
  std::uint64_t session_key;
  ServiceType service_type;
  std::uint32_t reserved2;
  // Annotation, sorted by key. Those of the Service whose key begins with one of PluginEntry::annotation_prefixes.
  ArrayView annotations;
  ArrayView endpoint_details;  // EndpointDetails, as many as endpoints; empty without kFeatureEndpointDetails
};
static_assert(sizeof(ServicePort) == 240 && offsetof(ServicePort, flags) == 56 &&
              offsetof(ServicePort, affinity_seconds) == 60 &&
              offsetof(ServicePort, health_check_node_port) == 64 && offsetof(ServicePort, frontends) == 72 &&
              offsetof(ServicePort, source_ranges) == 96 && offsetof(ServicePort, endpoints) == 120 &&
              offsetof(ServicePort, service_uid) == 144 && offsetof(ServicePort, session_key) == 176 &&
              offsetof(ServicePort, annotations) == 192 && offsetof(ServicePort, endpoint_details) == 216);

}  // namespace sluice::abi
