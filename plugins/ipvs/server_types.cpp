// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/server_types.hpp"

#include "lib/protocol.hpp"
#include "plugins/common/address_hash.hpp"

namespace sluice::ipvs {
std::string to_string(const ServerKey& key, abi::Family family) {
  return (sdk::host_port(key.address, family, key.port) + "/").append(lib::upper_protocol_name(key.protocol));
}

std::string to_string(const RealServer& server, abi::Family family) {
  return sdk::host_port(server.address, family, server.port);
}

std::size_t ServerKeyHash::operator()(const ServerKey& key) const noexcept {
  const std::size_t place = std::size_t{key.port} << 8 | static_cast<std::uint8_t>(key.protocol);
  return std::hash<abi::Address>()(key.address) * 31 + place;
}

}  // namespace sluice::ipvs
