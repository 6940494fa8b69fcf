// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keys and data of the elements of our sets and maps, as the bytes that the kernel compares. Values.
//
// Every component of a concatenated key starts at a multiple of 4 bytes and is padded with zeros: a protocol is one
// byte and three zeros, a port two bytes in network order and two zeros. Numbers (slots, ids, class numbers) are 32
// bits in host order, as numgen and meta priority produce them.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "sluice/abi/types.hpp"

namespace sluice::nftables {

// Sets and maps with elements of Services, in the order of creation and listing. docs/decisions/0021-nftables.md
// describes each.
enum class SetId : std::uint8_t {
  kClusterIps,              // address
  kNodePortIps,             // address
  kHairpin,                 // address . address . protocol . port
  kServiceIps,              // frontend : class number
  kServiceNodePorts,        // node port : class number
  kEndpoints,               // frontend . slot : address . port
  kNodePortEndpoints,       // node port . slot : address . port
  kNoEndpointServices,      // frontend; rejected
  kNoEndpointNodePorts,     // node port; rejected
  kNoLocalServices,         // frontend; dropped
  kNoLocalNodePorts,        // node port; dropped
  kFirewallIps,             // frontend : class number
  kAffinityServices,        // frontend : affinity id
  kAffinityNodePorts,       // node port : affinity id
  kAffinitySlots,           // affinity id . slot : token
  kAffinityEndpoints,       // protocol . token : address . port
  kAffinityLocalEndpoints,  // protocol . token : address . port
  kServiceTraffic,          // frontend; with a counter; only with counters or offload
  kNodePortTraffic,         // node port; with a counter; only with counters or offload
};
inline constexpr std::size_t kSetCount = 19;

constexpr std::size_t index(SetId id) noexcept { return static_cast<std::size_t>(id); }

// First slots of the lists for policies Cluster and Local; nft shows 0:1 and 1:1.
inline constexpr std::uint32_t kClusterSlots = 0x0001;
inline constexpr std::uint32_t kLocalSlots = 0x10001;
std::string slot_text(std::uint32_t slot);
// An affinity id is the upper half of a word whose lower half is zero. A token is the id with the endpoint's number,
// which is not zero, in the lower half.
inline constexpr std::uint32_t kAffinityIdMask = 0xffff0000;

// FNV-1a with a final mix, as neighbouring addresses would cluster otherwise; the same in every run and build.
inline std::uint64_t hash_bytes(const void* bytes, std::size_t count, std::uint64_t seed = 0) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325 ^ seed;
  for (std::size_t i = 0; i < count; ++i) {
    hash = (hash ^ static_cast<const std::uint8_t*>(bytes)[i]) * 0x100000001b3;
  }
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9;
  return hash ^ hash >> 32;
}

// A byte string of at most Room bytes, ordered by bytes.
template <std::size_t Room>
class Bytes {
 public:
  const std::uint8_t* data() const noexcept { return bytes_.data(); }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  // Pads with zeros to a multiple of 4. REQUIRES: the result fits.
  void append(const void* from, std::size_t count) noexcept {
    std::memcpy(bytes_.data() + size_, from, count);
    size_ = static_cast<std::uint8_t>((size_ + count + 3) / 4 * 4);
  }
  friend bool operator==(const Bytes& a, const Bytes& b) noexcept {
    return a.size_ == b.size_ && std::memcmp(a.data(), b.data(), a.size_) == 0;
  }
  friend std::strong_ordering operator<=>(const Bytes& a, const Bytes& b) noexcept {
    const int order = std::memcmp(a.data(), b.data(), a.size_ < b.size_ ? a.size_ : b.size_);
    if (order != 0) return order <=> 0;
    return a.size_ <=> b.size_;
  }

 private:
  std::array<std::uint8_t, Room> bytes_{};
  std::uint8_t size_ = 0;
};
using Key = Bytes<40>;   // the longest is an IPv6 hairpin
using Data = Bytes<20>;  // the longest is an IPv6 address and port

struct Record {
  SetId set{};
  Key key;
  Data data;  // empty in sets
  friend bool operator==(const Record&, const Record&) = default;
  friend auto operator<=>(const Record&, const Record&) = default;
};

struct EndpointAddress {
  abi::Address address{};
  std::uint16_t port = 0;  // host order
  friend bool operator==(const EndpointAddress& a, const EndpointAddress& b) noexcept {
    return a.port == b.port && std::memcmp(a.address.bytes, b.address.bytes, sizeof(a.address.bytes)) == 0;
  }
  friend std::strong_ordering operator<=>(const EndpointAddress& a, const EndpointAddress& b) noexcept {
    const int order = std::memcmp(a.address.bytes, b.address.bytes, sizeof(a.address.bytes));
    return order != 0 ? order <=> 0 : a.port <=> b.port;
  }
};

// The destination of clients. A node port has no address: it is served on all node port addresses.
struct FrontendKey {
  bool node_port = false;
  abi::Address address{};
  abi::Protocol protocol{};
  std::uint16_t port = 0;  // host order
};

// The sets that may contain a frontend.
struct FrontendSets {
  SetId classes, endpoints, rejected, dropped, affinity, traffic;
};
const FrontendSets& frontend_sets(bool node_port) noexcept;

// Keys and data from their components.
Key frontend_key(abi::Family family, const FrontendKey& frontend);  // a node port has no address
Key slot_key(abi::Family family, const FrontendKey& frontend, std::uint32_t slot);
Key address_key(abi::Family family, const abi::Address& address);
Key hairpin_key(abi::Family family, const EndpointAddress& endpoint, abi::Protocol protocol);
Key affinity_slot_key(std::uint32_t id, std::uint32_t slot);
Key affinity_key(abi::Family family, std::uint32_t id, const abi::Address& client);
Key token_key(abi::Protocol protocol, std::uint32_t token);
Data endpoint_data(abi::Family family, const EndpointAddress& endpoint);
Data number_data(std::uint32_t number);

// The reverse, for listed elements. REQUIRES: made by the function of the same name, for this family.
FrontendKey read_frontend(abi::Family family, const Key& key, bool node_port);
EndpointAddress read_endpoint(abi::Family family, const Data& data);
std::uint32_t read_number(const Data& data);
// The last word of a key: a slot or a token.
std::uint32_t last_word(const Key& key);

// The frontend that the key of an element begins with; empty if elements of the set have none.
std::optional<FrontendKey> frontend_in(abi::Family family, const Record& record);

// "172.30.0.41:80/tcp", "[fd00::1]:80/udp", ":30001/tcp".
std::string to_string(abi::Family family, const FrontendKey& frontend);
// "10.180.0.1:80", "[fd00::1]:80".
std::string to_string(abi::Family family, const EndpointAddress& endpoint);

}  // namespace sluice::nftables
