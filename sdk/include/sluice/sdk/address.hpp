// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Addresses and prefixes as text, in the canonical form of inet_ntop(3).
#pragma once

#include <arpa/inet.h>

#include <cstring>
#include <optional>
#include <string>

#include "sluice/abi/types.hpp"

namespace sluice::sdk {

inline std::size_t address_bytes(abi::Family family) noexcept { return family == abi::Family::kIpv6 ? 16 : 4; }
inline int socket_family(abi::Family family) noexcept { return family == abi::Family::kIpv6 ? AF_INET6 : AF_INET; }

inline std::string to_string(const abi::Address& address, abi::Family family) {
  char buffer[INET6_ADDRSTRLEN] = {};
  inet_ntop(socket_family(family), address.bytes, buffer, sizeof(buffer));
  return buffer;
}

inline std::string to_string(const abi::Prefix& prefix, abi::Family family) {
  return to_string(prefix.address, family) + "/" + std::to_string(prefix.length);
}

// "10.0.0.1:80", "[fd00::1]:80".
inline std::string host_port(const abi::Address& address, abi::Family family, std::uint16_t port) {
  const std::string host = to_string(address, family);
  return (family == abi::Family::kIpv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

// Returns nothing if `text` is not an address of `family`.
inline std::optional<abi::Address> parse_address(const std::string& text, abi::Family family) {
  abi::Address address{};
  if (inet_pton(socket_family(family), text.c_str(), address.bytes) != 1) return std::nullopt;
  return address;
}

inline bool equal(const abi::Address& a, const abi::Address& b) noexcept {
  return std::memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

inline bool equal(const abi::Prefix& a, const abi::Prefix& b) noexcept {
  return a.length == b.length && equal(a.address, b.address);
}

// True for 0.0.0.0 and ::, as in the address of a node port frontend.
inline bool is_unspecified(const abi::Address& address) noexcept { return equal(address, abi::Address{}); }

}  // namespace sluice::sdk

namespace sluice::abi {

// In the namespace of the types, so that argument-dependent lookup finds them everywhere.
inline bool operator==(const Address& a, const Address& b) noexcept { return sdk::equal(a, b); }
inline bool operator!=(const Address& a, const Address& b) noexcept { return !sdk::equal(a, b); }
inline bool operator<(const Address& a, const Address& b) noexcept {
  return std::memcmp(a.bytes, b.bytes, sizeof(a.bytes)) < 0;
}
inline bool operator==(const Prefix& a, const Prefix& b) noexcept { return sdk::equal(a, b); }
inline bool operator!=(const Prefix& a, const Prefix& b) noexcept { return !sdk::equal(a, b); }

}  // namespace sluice::abi
