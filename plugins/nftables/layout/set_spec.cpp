// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/layout/set_spec.hpp"

#include <linux/netfilter/nf_tables.h>

#include <initializer_list>

#include "plugins/nftables/layout/typeof.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::nftables {
namespace {

// Components of keys and data.
enum class Part : std::uint8_t { kAddress, kProtocol, kPort, kNumber, kSlot };
using Parts = std::initializer_list<Part>;

constexpr std::initializer_list<Part> kFrontend = {Part::kAddress, Part::kProtocol, Part::kPort};
constexpr std::initializer_list<Part> kNodePort = {Part::kProtocol, Part::kPort};
constexpr std::initializer_list<Part> kNumber = {Part::kNumber};
constexpr std::initializer_list<Part> kEndpoint = {Part::kAddress, Part::kPort};

// Type numbers of nft, 6 bits each in a concatenation.
constexpr unsigned kTypeBits = 6;
std::uint32_t type_number(abi::Family family, Part part) {
  switch (part) {
    case Part::kAddress:
      return family == abi::Family::kIpv6 ? 8 : 7;  // ipv6_addr, ipv4_addr
    case Part::kProtocol:
      return 12;  // inet_proto
    case Part::kPort:
      return 13;  // inet_service
    case Part::kNumber:
      return 23;  // classid, the type of meta priority
    case Part::kSlot:
      break;
  }
  return 4;  // integer, the type of numgen
}

std::uint32_t type_number(abi::Family family, Parts parts) {
  std::uint32_t number = 0;
  for (const auto part : parts) number = number << kTypeBits | type_number(family, part);
  return number;
}

std::uint32_t size(abi::Family family, Parts parts) {
  std::size_t bytes = 0;
  for (const auto part : parts) bytes += part == Part::kAddress ? sdk::address_bytes(family) : 4;
  return static_cast<std::uint32_t>(bytes);
}

// kSlot is an integer, which has no size of its own: nft needs a typeof expression.
bool needs_typeof(Parts parts) {
  for (const auto part : parts) {
    if (part == Part::kSlot) return true;
  }
  return false;
}

TypeofPart typeof_part(Part part) {
  switch (part) {
    case Part::kAddress:
      return TypeofPart::kDestination;
    case Part::kProtocol:
      return TypeofPart::kProtocol;
    case Part::kPort:
      return TypeofPart::kPort;
    case Part::kNumber:
      return TypeofPart::kPriority;
    case Part::kSlot:
      break;
  }
  return TypeofPart::kSlot;
}

NftType nft_type(Parts parts, bool by_expression) {
  NftType type;
  type.concatenated = parts.size() > 1;
  if (!type.concatenated) type.byte_order = *parts.begin() == Part::kNumber ? kHostOrder : kNetworkOrder;
  if (by_expression) {
    for (const auto part : parts) type.parts.push_back(typeof_part(part));
  }
  return type;
}

SetSpec make(abi::Family family, const char* name, Parts key, Parts data, const char* comment) {
  SetSpec spec;
  spec.name = name;
  spec.key_type = type_number(family, key);
  spec.key_size = size(family, key);
  const bool by_expression = needs_typeof(key);  // of key and data or of neither, as nft lists it
  const NftType key_type = nft_type(key, by_expression);
  if (data.size() == 0) {
    spec.userdata = set_userdata(family, key_type, nullptr, comment);
    return spec;
  }
  spec.flags = NFT_SET_MAP;
  spec.data_type = type_number(family, data);
  spec.data_size = size(family, data);
  const NftType data_type = nft_type(data, by_expression);
  spec.userdata = set_userdata(family, key_type, &data_type, comment);
  return spec;
}

// class number : verdict
SetSpec make_dispatch(abi::Family family, const char* name, const char* comment) {
  SetSpec spec = make(family, name, kNumber, {}, "");
  spec.flags = NFT_SET_MAP;
  spec.data_type = NFT_DATA_VERDICT;
  spec.data_size = 16;  // as in the kernel and nft; the value is a chain
  const NftType data_type;
  const NftType key_type = nft_type(kNumber, false);
  spec.userdata = set_userdata(family, key_type, &data_type, comment);
  return spec;
}

SetSpec counting(SetSpec spec) {
  spec.counters = true;
  return spec;
}

}  // namespace

SetSpec set_spec(abi::Family family, SetId id) {
  using P = Part;
  switch (id) {
    case SetId::kClusterIps:
      return make(family, "cluster-ips", {P::kAddress}, {}, "Active ClusterIPs");
    case SetId::kNodePortIps:
      return make(family, "nodeport-ips", {P::kAddress}, {}, "IPs that accept NodePort traffic");
    case SetId::kHairpin:
      return make(family, "hairpin-connections", {P::kAddress, P::kAddress, P::kProtocol, P::kPort}, {},
                  "service hairpin connections");
    case SetId::kServiceIps:
      return make(family, "service-treatments", kFrontend, kNumber, "ClusterIP, ExternalIP and LoadBalancer IP traffic");
    case SetId::kServiceNodePorts:
      return make(family, "nodeport-treatments", kNodePort, kNumber, "NodePort traffic");
    case SetId::kEndpoints:
      return make(family, "endpoints", {P::kAddress, P::kProtocol, P::kPort, P::kNumber}, kEndpoint,
                  "endpoints by slot; those on this node from 1:1");
    case SetId::kNodePortEndpoints:
      return make(family, "nodeport-endpoints", {P::kProtocol, P::kPort, P::kNumber}, kEndpoint,
                  "endpoints of NodePorts by slot; those on this node from 1:1");
    case SetId::kNoEndpointServices:
      return make(family, "rejected-services", kFrontend, {}, "services with no endpoints: rejected");
    case SetId::kNoEndpointNodePorts:
      return make(family, "rejected-nodeports", kNodePort, {}, "service nodeports with no endpoints: rejected");
    case SetId::kNoLocalServices:
      return make(family, "dropped-services", kFrontend, {},
                  "services with no endpoints on this node: dropped");
    case SetId::kNoLocalNodePorts:
      return make(family, "dropped-nodeports", kNodePort, {},
                  "service nodeports with no endpoints on this node: dropped");
    case SetId::kFirewallIps:
      return make(family, "firewalled-services", kFrontend, kNumber,
                  "destinations that are subject to LoadBalancerSourceRanges");
    case SetId::kAffinityServices:
      return make(family, "affinity-services", kFrontend, kNumber, "services with session affinity");
    case SetId::kAffinityNodePorts:
      return make(family, "affinity-nodeports", kNodePort, kNumber, "NodePorts with session affinity");
    case SetId::kAffinitySlots:
      return make(family, "affinity-slots", {P::kNumber, P::kSlot}, kNumber,
                  "endpoints of services with session affinity by slot");
    case SetId::kAffinityEndpoints:
      return make(family, "affinity-endpoints", {P::kProtocol, P::kNumber}, kEndpoint,
                  "addresses of endpoints with session affinity");
    case SetId::kAffinityLocalEndpoints:
      return make(family, "affinity-local-endpoints", {P::kProtocol, P::kNumber}, kEndpoint,
                  "addresses of endpoints on this node with session affinity");
    case SetId::kServiceTraffic:
      return counting(make(family, "service-traffic", kFrontend, {}, "packets and bytes of services"));
    case SetId::kNodePortTraffic:
      break;
  }
  return counting(make(family, "nodeport-traffic", kNodePort, {}, "packets and bytes of NodePorts"));
}

bool only_with_frontends(SetId id) { return id == SetId::kServiceTraffic || id == SetId::kNodePortTraffic; }

SetSpec service_chains_spec(abi::Family family) {
  return make_dispatch(family, "service-chains", "what becomes of packets to services");
}

SetSpec firewall_chains_spec(abi::Family family) {
  return make_dispatch(family, "firewall-chains", "allowed clients of LoadBalancer IPs");
}

SetSpec affinity_spec(abi::Family family, std::uint32_t capacity) {
  SetSpec spec = make(family, "affinity", {Part::kNumber, Part::kAddress}, kNumber, "clients and their endpoints");
  spec.flags |= NFT_SET_EVAL | NFT_SET_TIMEOUT;
  spec.timeout_ms = 10800 * 1000;  // for elements added by hand; rules set a timeout
  spec.capacity = capacity;
  return spec;
}

std::vector<SetSpec> all_sets(abi::Family family, bool with_frontends, std::uint32_t affinity_capacity) {
  std::vector<SetSpec> sets;
  for (std::size_t i = 0; i < kSetCount; ++i) {
    const auto id = static_cast<SetId>(i);
    if (with_frontends || !only_with_frontends(id)) sets.push_back(set_spec(family, id));
    if (id == SetId::kServiceNodePorts) sets.push_back(service_chains_spec(family));
    if (id == SetId::kFirewallIps) sets.push_back(firewall_chains_spec(family));
    if (id == SetId::kAffinityLocalEndpoints) sets.push_back(affinity_spec(family, affinity_capacity));
  }
  return sets;
}

}  // namespace sluice::nftables
