// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0
#include "conformance_services.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace conformance {
namespace {

constexpr std::size_t kLonger = 32;  // a multiple of every alignment
constexpr unsigned char kMeaningless = 0xa5;

// An address in, for example, 172.30.0.0/16 or fd00:172:30::/112.
abi::Address numbered(abi::Family family, std::uint8_t first, std::uint8_t second, std::uint32_t number) {
  abi::Address out{};
  unsigned char* const bytes = out.bytes;
  if (family == abi::Family::kIpv4) {
    bytes[0] = first;
    bytes[1] = second;
    bytes[2] = static_cast<unsigned char>(number >> 8);
    bytes[3] = static_cast<unsigned char>(number);
    return out;
  }
  bytes[0] = 0xfd;
  bytes[3] = first;
  bytes[5] = second;
  bytes[13] = static_cast<unsigned char>(number >> 16);
  bytes[14] = static_cast<unsigned char>(number >> 8);
  bytes[15] = static_cast<unsigned char>(number);
  return out;
}

// The local addresses of the node, as in NodeFacts of the daemon: a backend compares its node port rules with them.
std::vector<abi::Address> addresses_of_node(abi::Family family) {
  std::vector<abi::Address> out;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return out;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    abi::Address address{};
    if (family == abi::Family::kIpv4 && one->ifa_addr->sa_family == AF_INET) {
      std::memcpy(address.bytes, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, 4);
    } else if (family == abi::Family::kIpv6 && one->ifa_addr->sa_family == AF_INET6) {
      std::memcpy(address.bytes, &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr, 16);
    } else {
      continue;
    }
    out.push_back(address);
  }
  freeifaddrs(all);
  const auto before = [](const abi::Address& a, const abi::Address& b) { return std::memcmp(&a, &b, sizeof(a)) < 0; };
  const auto same = [](const abi::Address& a, const abi::Address& b) { return std::memcmp(&a, &b, sizeof(a)) == 0; };
  std::sort(out.begin(), out.end(), before);
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

abi::Address loopback(abi::Family family) {
  abi::Address out{};
  if (family == abi::Family::kIpv4) {
    out.bytes[0] = 127;
    out.bytes[3] = 1;
  } else {
    out.bytes[15] = 1;
  }
  return out;
}

}  // namespace

Services::Services(abi::Family family, std::uint32_t count) : family_(family) {
  for (std::uint32_t i = 0; i < count; ++i) {
    all_.push_back(std::make_unique<One>());
    One& one = *all_.back();
    char name[16];
    std::snprintf(name, sizeof(name), "svc-%06u", i);
    one.name = name;
    one.frontends[0] = {numbered(family, 172, 30, i + 1), 80, abi::FrontendKind::kClusterIp, {}};
    one.frontends[1] = {{}, static_cast<std::uint16_t>(30000 + i / 10), abi::FrontendKind::kNodePort, {}};
    for (std::uint32_t e = 0; e < 3; ++e) {
      constexpr std::uint16_t kUsable = abi::kEndpointInCluster | abi::kEndpointReady | abi::kEndpointServing;
      one.endpoints[e] = {numbered(family, 10, static_cast<std::uint8_t>(180 + e), i + 1), 80, kUsable, 0};
    }
    one.shown.key = {sdk::view("conformance"), sdk::view(one.name), sdk::view("http"), abi::Protocol::kTcp, {}};
    one.shown.flags = abi::kUsesClusterEndpoints | abi::kHasAnyEndpoint;
    one.shown.frontends = sdk::array(one.frontends, i % 10 == 0 ? 2 : 1);
    one.shown.endpoints = sdk::array(one.endpoints, 3);
  }
  local_ = addresses_of_node(family);
  node_.struct_size = sizeof(node_);
  node_.flags = abi::kNodePortsMatchAll;
  node_.version = 1;
  node_.name = sdk::view("node-1");
  node_.node_ip = local_.empty() ? loopback(family) : local_[0];
  node_.masquerade_mark = 0x4000;
  node_.detector = abi::LocalDetectorKind::kCidr;
  node_.detector_cidr.address = numbered(family, 10, 0, 0);
  node_.detector_cidr.length = family == abi::Family::kIpv4 ? 8 : 32;
  node_.local_addresses = sdk::array(local_.data(), local_.size());
}

void Services::change(std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t i = first; i < first + count; ++i) {
    for (abi::Endpoint& endpoint : all_[i % all_.size()]->endpoints) {
      endpoint.port = static_cast<std::uint16_t>(endpoint.port == 80 ? 8080 : 80);
    }
  }
}

abi::Transaction Services::full(std::uint64_t generation) {
  return transaction(abi::TransactionKind::kFull, 0, generation, 0, static_cast<std::uint32_t>(all_.size()));
}

abi::Transaction Services::delta(std::uint64_t base, std::uint32_t first, std::uint32_t count) {
  return transaction(abi::TransactionKind::kDelta, base, base + 1, first, count);
}

abi::Transaction Services::transaction(abi::TransactionKind kind, std::uint64_t base, std::uint64_t generation,
                                       std::uint32_t first, std::uint32_t count) {
  const std::size_t more = longer_ ? kLonger : 0;
  const std::size_t stride = sizeof(abi::ServicePort) + more;
  port_bytes_.assign(stride * count, kMeaningless);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::memcpy(port_bytes_.data() + stride * i, &all_[first + i]->shown, sizeof(abi::ServicePort));
  }
  node_bytes_.assign(sizeof(node_) + more, kMeaningless);
  node_.struct_size = static_cast<std::uint32_t>(node_bytes_.size());
  std::memcpy(node_bytes_.data(), &node_, sizeof(node_));

  abi::Transaction out{};
  out.struct_size = sizeof(out);
  out.kind = kind;
  out.base_generation = base;
  out.generation = generation;
  out.node = reinterpret_cast<const abi::NodeFacts*>(node_bytes_.data());
  out.service_ports = {port_bytes_.data(), count, static_cast<std::uint32_t>(stride), 0};
  return out;
}

}  // namespace conformance
