// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A resolved service port: one (Service, port) pair for one IP family, with all
// Kubernetes policy already applied. A backend needs no knowledge beyond this.
#pragma once

#include "sluice/abi/types.hpp"

namespace sluice::abi {

// Fixed. Identity of a service port inside one family. Printed as "namespace/name:port",
// or "namespace/name" for an unnamed port; the protocol is part of the identity
// but not of the printed name.
struct ServicePortKey {
  StringView service_namespace;
  StringView service_name;
  StringView port_name;
  Protocol protocol;
  std::uint8_t reserved[7];
};
static_assert(sizeof(ServicePortKey) == 56 && offsetof(ServicePortKey, port_name) == 32 &&
              offsetof(ServicePortKey, protocol) == 48);

// A frontend of a kind that is not known is passed over.
enum class FrontendKind : std::uint8_t {
  kClusterIp = 1,     // spec.clusterIPs of this family; exactly one per service port
  kExternalIp = 2,    // spec.externalIPs
  kLoadBalancer = 3,  // status.loadBalancer.ingress[].ip with ipMode VIP
  kNodePort = 4,      // address is all zero: see NodeFacts::node_port_addresses
};

// Growing. Where clients send packets to. The protocol is that of the key. Several frontends of one service port may
// have the same address and port (an external IP that is the load balancer's, too): what any of them restricts counts.
//
// Which endpoints new connections are balanced over, and what becomes of them where there are none:
//   kClusterIp      The Local list with kInternalPolicyLocal, otherwise the Cluster list.
//   all others      With kExternalPolicyLocal the Local list, and the client's address stays as it is; otherwise the
//                   Cluster list. Pods of this node (NodeFacts::detector) and the node itself are not from elsewhere:
//                   for them it is the Cluster list in any case ("the short way"), but where a data plane has one list
//                   for all clients.
//   kLoadBalancer   Where there are ServicePort::source_ranges, clients outside of them are dropped, pods and the node
//                   included; the node's own traffic to the address counts as inside when a range has the node's
//                   address. Ranges say nothing of the other kinds, node ports in particular.
// Where the list that applies is empty: rejected, or dropped when it is the Local list and kHasAnyEndpoint tells of
// endpoints elsewhere. Where there is no endpoint at all, a client outside of the ranges may be rejected as well.
struct Frontend {
  Address address;
  std::uint16_t port;
  FrontendKind kind;
  std::uint8_t reserved[5];
};
static_assert(sizeof(Frontend) == 24 && offsetof(Frontend, port) == 16 && offsetof(Frontend, kind) == 18);

// Flags of an Endpoint. An endpoint in neither list takes no new connections; it
// is shown because connections to it may live on (drain) or because it is local.
enum EndpointFlag : std::uint16_t {
  kEndpointInCluster = 1u << 0,    // member of the list for policy Cluster
  kEndpointInLocal = 1u << 1,      // member of the list for policy Local
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

// Flags of a ServicePort.
enum ServicePortFlag : std::uint32_t {
  kInternalPolicyLocal = 1u << 0,   // internalTrafficPolicy: Local
  kExternalPolicyLocal = 1u << 1,   // externalTrafficPolicy: Local, where it applies
  kUsesClusterEndpoints = 1u << 2,  // some frontend balances over the cluster list
  kUsesLocalEndpoints = 1u << 3,    // some frontend balances over the local list
  kHasAnyEndpoint = 1u << 4,        // there is one somewhere; set whenever one of the lists is not empty
  kSessionAffinity = 1u << 5,       // sessionAffinity: ClientIP
};

// Growing. Arrays are sorted: frontends by kind, then as the Service lists them; endpoints
// by the text "ip:port" (IPv6 "[ip]:port") in byte order, as kube-proxy orders them.
struct ServicePort {
  ServicePortKey key;
  std::uint32_t flags;                   // ServicePortFlag
  std::uint32_t affinity_seconds;        // after its last connection; 0 unless kSessionAffinity
  std::uint16_t health_check_node_port;  // 0 = none. The daemon answers there; a firewall has to let it through
  std::uint8_t reserved[6];
  ArrayView frontends;      // Frontend
  ArrayView source_ranges;  // Prefix; empty = every client may use the load balancer address
  ArrayView endpoints;      // Endpoint
};
static_assert(sizeof(ServicePort) == 144 && offsetof(ServicePort, flags) == 56 &&
              offsetof(ServicePort, affinity_seconds) == 60 &&
              offsetof(ServicePort, health_check_node_port) == 64 && offsetof(ServicePort, frontends) == 72 &&
              offsetof(ServicePort, source_ranges) == 96 && offsetof(ServicePort, endpoints) == 120);

}  // namespace sluice::abi
