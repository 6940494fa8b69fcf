// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Names of the IP protocols that Services have. A protocol is its IP number, or an enumeration of these numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice::lib {

struct ProtocolNames {
  std::uint8_t number;
  std::string_view lower;
  std::string_view upper;
};
inline constexpr std::array<ProtocolNames, 3> kProtocols{
    {{6, "tcp", "TCP"}, {17, "udp", "UDP"}, {132, "sctp", "SCTP"}}};

// "tcp", as iptables and metrics write it; empty for other protocols.
template <class Protocol>
constexpr std::string_view protocol_name(Protocol protocol) noexcept {
  for (const ProtocolNames& names : kProtocols) {
    if (names.number == static_cast<std::uint8_t>(protocol)) return names.lower;
  }
  return {};
}

// "TCP", as Kubernetes and IPVS write it; empty for other protocols.
template <class Protocol>
constexpr std::string_view upper_protocol_name(Protocol protocol) noexcept {
  for (const ProtocolNames& names : kProtocols) {
    if (names.number == static_cast<std::uint8_t>(protocol)) return names.upper;
  }
  return {};
}

// Reads "TCP"; false, with `out` unchanged, for anything else.
template <class Protocol>
constexpr bool parse_upper_protocol(std::string_view text, Protocol& out) noexcept {
  for (const ProtocolNames& names : kProtocols) {
    if (names.upper != text) continue;
    out = static_cast<Protocol>(names.number);
    return true;
  }
  return false;
}

}  // namespace sluice::lib
