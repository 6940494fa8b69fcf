// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Virtual servers (the address clients send to) and real servers (the endpoints) of IPVS. All addresses are of the
// backend's family. Pure.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "names/objects.hpp"
#include "sluice/abi/types.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::ipvs {

// The link that carries service addresses, so that the kernel accepts packets to them.
inline constexpr const char* kLinkName = names::kServiceLink.name.data();

struct ServerKey {
  abi::Address address{};
  std::uint16_t port = 0;
  abi::Protocol protocol = abi::Protocol::kTcp;
  bool operator==(const ServerKey& other) const noexcept {
    return address == other.address && port == other.port && protocol == other.protocol;
  }
  bool operator<(const ServerKey& other) const noexcept {
    if (address != other.address) return address < other.address;
    if (port != other.port) return port < other.port;
    return protocol < other.protocol;
  }
};

struct RealServer {
  abi::Address address{};
  std::uint16_t port = 0;
  bool operator==(const RealServer& other) const noexcept {
    return address == other.address && port == other.port;
  }
  bool operator<(const RealServer& other) const noexcept {
    return address != other.address ? address < other.address : port < other.port;
  }
};
// Sorted, without duplicates. Frontends of one service port share a list.
using RealServers = std::shared_ptr<const std::vector<RealServer>>;

// Bits of IP_VS_SVC_F_* in <linux/ip_vs.h>, without those the kernel adds (hashed, 0x2).
inline constexpr std::uint32_t kPersistent = 0x1;
inline constexpr std::uint32_t kSchedulerPort = 0x10;  // BEH 6.3: with scheduler mh
// With scheduler sh, which maps clients to a draining real server of weight 0: without this flag they are refused.
inline constexpr std::uint32_t kSchedulerFallback = 0x8;

struct VirtualServer {
  ServerKey key;
  std::string scheduler;
  std::uint32_t flags = 0;
  std::uint32_t persistence_seconds = 0;  // 0 unless kPersistent; the netmask is always a single host
  bool same_attributes(const VirtualServer& other) const noexcept {
    return scheduler == other.scheduler && flags == other.flags && persistence_seconds == other.persistence_seconds;
  }
};

// "10.0.0.1:80/TCP", "[fd00::1]:80/TCP": for messages and files.
std::string to_string(const ServerKey& key, abi::Family family);
std::string to_string(const RealServer& server, abi::Family family);

struct ServerKeyHash {
  std::size_t operator()(const ServerKey& key) const noexcept;
};

}  // namespace sluice::ipvs
