// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What elements of our sets and maps are made of: bytes as the kernel compares them. Values.
//
// Every component of a concatenated key begins at a multiple of 4 bytes, and what is left of its last word is zero: a
// protocol is its byte and three zeros, a port two bytes in network order and two zeros. Numbers (slots, ids, class
// numbers) are 32 bits in the order of this machine, as numgen and meta priority give them.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "sluice/abi/types.hpp"

namespace sluice::nftables {

// Sets and maps whose elements Services decide on. What each holds: docs/decisions/0021-nftables.md. Their order is that in
// which they are created and listed.
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
  kServiceTraffic,          // frontend; with a counter; only with counters
  kNodePortTraffic,         // node port; with a counter; only with counters
};
inline constexpr std::size_t kSetCount = 19;

constexpr std::size_t index(SetId id) noexcept { return static_cast<std::size_t>(id); }

// Slots of the lists for policies Cluster and Local begin here: 0:1 and 1:1, as nft shows them.
inline constexpr std::uint32_t kClusterSlots = 0x0001;
inline constexpr std::uint32_t kLocalSlots = 0x10001;
std::string slot_text(std::uint32_t slot);
// An affinity id is the upper half of a word whose lower half is zero; a token has a number of the endpoint there,
// which is not zero.
inline constexpr std::uint32_t kAffinityIdMask = 0xffff0000;

// So many bytes, of at most Room. Ordered by bytes.
template <std::size_t Room>
class Bytes {
 public:
  const std::uint8_t* data() const noexcept { return bytes_.data(); }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  // REQUIRES: there is room. Zeros are added up to a multiple of 4.
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
using Key = Bytes<40>;   // hairpin of IPv6 is the longest
using Data = Bytes<20>;  // address and port of IPv6

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

// Where clients send packets to. Node ports have no address: they are on all of the node's that serve them.
struct FrontendKey {
  bool node_port = false;
  abi::Address address{};
  abi::Protocol protocol{};
  std::uint16_t port = 0;  // host order
};

// Keys and data, component by component.
Key frontend_key(abi::Family family, const FrontendKey& frontend);  // with or without an address
Key slot_key(abi::Family family, const FrontendKey& frontend, std::uint32_t slot);
Key address_key(abi::Family family, const abi::Address& address);
Key hairpin_key(abi::Family family, const EndpointAddress& endpoint, abi::Protocol protocol);
Key affinity_slot_key(std::uint32_t id, std::uint32_t slot);
Key memory_key(abi::Family family, std::uint32_t id, const abi::Address& client);
Key token_key(abi::Protocol protocol, std::uint32_t token);
Data endpoint_data(abi::Family family, const EndpointAddress& endpoint);
Data number_data(std::uint32_t number);

// And back, for what was listed. REQUIRES: made by the function of the same name, for this family.
FrontendKey read_frontend(abi::Family family, const Key& key, bool node_port);
EndpointAddress read_endpoint(abi::Family family, const Data& data);
std::uint32_t read_number(const Data& data);
// The last word of a key: a slot or a token.
std::uint32_t last_word(const Key& key);

// "172.30.0.41:80/tcp", "[fd00::1]:80/udp", ":30001/tcp".
std::string to_string(abi::Family family, const FrontendKey& frontend);
// "10.180.0.1:80", "[fd00::1]:80".
std::string to_string(abi::Family family, const EndpointAddress& endpoint);

}  // namespace sluice::nftables
