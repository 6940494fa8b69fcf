// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/sets/set_spec.hpp"

#include <functional>
#include <type_traits>

#include "lib/protocol.hpp"

namespace sluice::ipvs {
namespace {

// Indexed by SetId; comments of the rules that use the set.
constexpr std::array<std::string_view, kSets> kComments = {
    "Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose",
    "Kubernetes service cluster ip + port for masquerade purpose",
    "Kubernetes service external ip + port for masquerade and filter purpose",
    "Kubernetes service external ip + port with externalTrafficPolicy=local",
    "Kubernetes service lb portal",
    "Kubernetes service load balancer ip + port for load balancer with sourceRange",
    "Kubernetes service load balancer ip + port with externalTrafficPolicy=local",
    "Kubernetes service load balancer ip + port + source IP for packet filter purpose",
    "Kubernetes service load balancer ip + port + source cidr for packet filter purpose",
    "Kubernetes nodeport TCP port for masquerade purpose",
    "Kubernetes nodeport TCP port with externalTrafficPolicy=local",
    "Kubernetes nodeport UDP port for masquerade purpose",
    "Kubernetes nodeport UDP port with externalTrafficPolicy=local",
    "Kubernetes nodeport SCTP port for masquerade purpose with type 'hash ip:port'",
    "Kubernetes nodeport SCTP port with externalTrafficPolicy=local with type 'hash ip:port'",
    "Kubernetes health check node port",
    "Addresses on the ipvs interface",
    "",
};

constexpr std::array<SetSpec, kSets> kSpecs = [] {
  static_assert(kOwnedSets.back().id == static_cast<SetId>(kSets - 1), "the ids of the others are higher");
  std::array<SetSpec, kSets> specs{};
  for (std::size_t i = 0; i < kSets; ++i) specs[i] = {kOwnedSets[i].id, kOwnedSets[i].type, kComments[i]};
  return specs;
}();

}  // namespace

const SetSpec& spec(SetId id) noexcept { return kSpecs[static_cast<std::size_t>(id)]; }

std::array<SetId, kSets> all_sets() noexcept {
  std::array<SetId, kSets> all{};
  for (std::size_t i = 0; i < kSets; ++i) all[i] = kSpecs[i].id;
  return all;
}

std::string set_name(SetId id, abi::Family family) {
  return names::set_name(kOwnedSets[static_cast<std::size_t>(id)], family == abi::Family::kIpv6);
}

std::string temporary_name(SetId id, abi::Family family) {
  return names::temporary_set_name(kOwnedSets[static_cast<std::size_t>(id)], family == abi::Family::kIpv6);
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
  text.append(",").append(lib::protocol_name(entry.protocol)).append(":").append(std::to_string(entry.port));
  if (type == SetType::kIpPort) return text;
  text.append(",").append(sdk::to_string(entry.other, family));
  // A network of one address is printed without a length.
  if (type == SetType::kIpPortNet && entry.other_length != sdk::address_bytes(family) * 8) {
    text.append("/").append(std::to_string(entry.other_length));
  }
  return text;
}

}  // namespace sluice::ipvs
