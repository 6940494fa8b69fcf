// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The facts about the node that a backend needs. Every transaction contains all of them.
#pragma once

#include "sluice/abi/types.hpp"

namespace sluice::abi {

// How to recognize traffic from pods of this node. An unknown value must be treated as kNone.
enum class LocalDetectorKind : std::uint32_t {
  kNone = 0,             // not possible: rules that depend on it must not be programmed
  kCidr = 1,             // source address inside `cidr`
  kBridgeInterface = 2,  // arrives through `interface_name`
  kInterfaceNamePrefix = 3,  // arrives through an interface whose name starts with `interface_name`
};

enum NodeFlag : std::uint32_t {
  kNodePortsMatchAll = 1u << 0,      // every local address serves node ports; node_port_addresses is empty
  kNodePortsOnLocalhost = 1u << 1,   // IPv4: 127.0.0.0/8 serves them too
  kMasqueradeAll = 1u << 2,          // masquerade all traffic to cluster IPs
  kConntrackTcpLiberal = 1u << 3,    // nf_conntrack_tcp_be_liberal was on at start: no INVALID drop
};

// Growing.
struct NodeFacts {
  std::uint32_t struct_size;
  std::uint32_t flags;             // NodeFlag
  std::uint64_t version;           // changes with every other field; only comparable within one process
  StringView name;
  Address node_ip;                 // the node IP of this family; loopback if unknown. It may change
  std::uint32_t masquerade_mark;   // one bit, never 0
  LocalDetectorKind detector;
  Prefix detector_cidr;            // for kCidr
  StringView detector_interface;   // for the interface kinds
  ArrayView node_port_addresses;   // Address; sorted, without duplicates
  ArrayView local_addresses;       // Address; all of this family except loopback, including link-local ones; sorted
  // Prefix; only with kFeatureServiceCidrs. The ranges of cluster IPs (ServiceCIDR objects), sorted, without ranges that
  // another one contains; empty if unknown.
  ArrayView service_cidrs;
};
static_assert(sizeof(NodeFacts) == 168 && offsetof(NodeFacts, version) == 8 && offsetof(NodeFacts, name) == 16 &&
              offsetof(NodeFacts, node_ip) == 32 && offsetof(NodeFacts, masquerade_mark) == 48 &&
              offsetof(NodeFacts, detector) == 52 && offsetof(NodeFacts, detector_cidr) == 56 &&
              offsetof(NodeFacts, detector_interface) == 80 && offsetof(NodeFacts, node_port_addresses) == 96 &&
              offsetof(NodeFacts, local_addresses) == 120 && offsetof(NodeFacts, service_cidrs) == 144);

}  // namespace sluice::abi
