// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/listen_address.hpp"

namespace sluice::config {

std::string with_port(const std::string& address, int port) {
  const auto ip = lib::IpAddress::parse(address);
  if (!ip) return address;
  const std::string colon_port = ":" + std::to_string(port);
  return ip->family() == lib::Family::ipv4 ? address + colon_port : "[" + address + "]" + colon_port;
}

std::optional<lib::SocketAddress> parse_listen_address(std::string_view text) {
  const auto out = lib::SocketAddress::parse(text);
  const bool is_ipv6 = out && out->address.family() == lib::Family::ipv6;
  return out && out->port != 0 && is_ipv6 == text.starts_with('[') ? out : std::nullopt;
}

}  // namespace sluice::config
