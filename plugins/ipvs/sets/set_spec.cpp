// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/sets/set_spec.hpp"

#include <functional>
#include <type_traits>

namespace sluice::ipvs {
namespace {

// The kernel rejects longer names: IPSET_MAXNAMELEN includes the NUL.
constexpr std::size_t kLongestName = 31;

// Indexed by SetId.
constexpr SetSpec kSpecs[] = {
    {SetId::kLoopBack, "KUBE-LOOP-BACK", SetType::kIpPortIp,
     "Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose"},
    {SetId::kClusterIp, "KUBE-CLUSTER-IP", SetType::kIpPort,
     "Kubernetes service cluster ip + port for masquerade purpose"},
    {SetId::kExternalIp, "KUBE-EXTERNAL-IP", SetType::kIpPort,
     "Kubernetes service external ip + port for masquerade and filter purpose"},
    {SetId::kExternalIpLocal, "KUBE-EXTERNAL-IP-LOCAL", SetType::kIpPort,
     "Kubernetes service external ip + port with externalTrafficPolicy=local"},
    {SetId::kLoadBalancer, "KUBE-LOAD-BALANCER", SetType::kIpPort, "Kubernetes service lb portal"},
    {SetId::kLoadBalancerFirewall, "KUBE-LOAD-BALANCER-FW", SetType::kIpPort,
     "Kubernetes service load balancer ip + port for load balancer with sourceRange"},
    {SetId::kLoadBalancerLocal, "KUBE-LOAD-BALANCER-LOCAL", SetType::kIpPort,
     "Kubernetes service load balancer ip + port with externalTrafficPolicy=local"},
    {SetId::kLoadBalancerSourceIp, "KUBE-LOAD-BALANCER-SOURCE-IP", SetType::kIpPortIp,
     "Kubernetes service load balancer ip + port + source IP for packet filter purpose"},
    {SetId::kLoadBalancerSourceCidr, "KUBE-LOAD-BALANCER-SOURCE-CIDR", SetType::kIpPortNet,
     "Kubernetes service load balancer ip + port + source cidr for packet filter purpose"},
    {SetId::kNodePortTcp, "KUBE-NODE-PORT-TCP", SetType::kPorts, "Kubernetes nodeport TCP port for masquerade purpose"},
    {SetId::kNodePortLocalTcp, "KUBE-NODE-PORT-LOCAL-TCP", SetType::kPorts,
     "Kubernetes nodeport TCP port with externalTrafficPolicy=local"},
    {SetId::kNodePortUdp, "KUBE-NODE-PORT-UDP", SetType::kPorts, "Kubernetes nodeport UDP port for masquerade purpose"},
    {SetId::kNodePortLocalUdp, "KUBE-NODE-PORT-LOCAL-UDP", SetType::kPorts,
     "Kubernetes nodeport UDP port with externalTrafficPolicy=local"},
    {SetId::kNodePortSctp, "KUBE-NODE-PORT-SCTP-HASH", SetType::kIpPort,
     "Kubernetes nodeport SCTP port for masquerade purpose with type 'hash ip:port'"},
    {SetId::kNodePortLocalSctp, "KUBE-NODE-PORT-LOCAL-SCTP-HASH", SetType::kIpPort,
     "Kubernetes nodeport SCTP port with externalTrafficPolicy=local with type 'hash ip:port'"},
    {SetId::kHealthCheckNodePort, "KUBE-HEALTH-CHECK-NODE-PORT", SetType::kPorts, "Kubernetes health check node port"},
    {SetId::kIpvsAddresses, "KUBE-IPVS-IPS", SetType::kIp, "Addresses on the ipvs interface"},
    {SetId::kNodePortAddresses, "KUBE-NODE-PORT-IPS", SetType::kIp, ""},
};
static_assert(sizeof(kSpecs) / sizeof(kSpecs[0]) == kSets);

const char* protocol_name(abi::Protocol protocol) noexcept {
  switch (protocol) {
    case abi::Protocol::kTcp:
      return "tcp";
    case abi::Protocol::kUdp:
      return "udp";
    case abi::Protocol::kSctp:
      return "sctp";
  }
  return "?";
}

}  // namespace

const SetSpec& spec(SetId id) noexcept { return kSpecs[static_cast<std::size_t>(id)]; }

std::array<SetId, kSets> all_sets() noexcept {
  std::array<SetId, kSets> all{};
  for (std::size_t i = 0; i < kSets; ++i) all[i] = kSpecs[i].id;
  return all;
}

std::string set_name(SetId id, abi::Family family) {
  std::string name(spec(id).ipv4_name);
  if (family == abi::Family::kIpv6) name.insert(sizeof("KUBE-") - 1, "6-");
  if (name.size() > kLongestName) name.resize(kLongestName);
  return name;
}

std::string temporary_name(SetId id, abi::Family family) {
  constexpr std::string_view kSuffix = "-N";
  std::string name = set_name(id, family);
  if (name.size() > kLongestName - kSuffix.size()) name.resize(kLongestName - kSuffix.size());
  return name.append(kSuffix);
}

std::string_view type_name(SetType type) noexcept {
  switch (type) {
    case SetType::kIpPortIp:
      return "hash:ip,port,ip";
    case SetType::kIpPort:
      return "hash:ip,port";
    case SetType::kIpPortNet:
      return "hash:ip,port,net";
    case SetType::kPorts:
      return "bitmap:port";
    case SetType::kIp:
      return "hash:ip";
  }
  return "?";
}

std::size_t SetEntryHash::operator()(const SetEntry& entry) const noexcept {
  static_assert(std::has_unique_object_representations_v<SetEntry>, "all bytes of an entry are its value");
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(&entry), sizeof(entry)});
}

std::string to_string(const SetEntry& entry, SetType type, abi::Family family) {
  if (type == SetType::kPorts) return std::to_string(entry.port);
  std::string text = sdk::to_string(entry.address, family);
  if (type == SetType::kIp) return text;
  text.append(",").append(protocol_name(entry.protocol)).append(":").append(std::to_string(entry.port));
  if (type == SetType::kIpPort) return text;
  text.append(",").append(sdk::to_string(entry.other, family));
  // A network of one address is printed without a length.
  if (type == SetType::kIpPortNet && entry.other_length != sdk::address_bytes(family) * 8) {
    text.append("/").append(std::to_string(entry.other_length));
  }
  return text;
}

}  // namespace sluice::ipvs
