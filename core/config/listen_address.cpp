// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/listen_address.hpp"

#include "lib/number.hpp"

namespace sluice::config {

std::string with_port(const std::string& address, int port) {
  const auto ip = lib::IpAddress::parse(address);
  if (!ip) return address;
  const std::string colon_port = ":" + std::to_string(port);
  return ip->family() == lib::Family::ipv4 ? address + colon_port : "[" + address + "]" + colon_port;
}

std::optional<lib::SocketAddress> parse_listen_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (in_brackets) host = host.substr(1, host.size() - 2);
  const auto ip = lib::IpAddress::parse(std::string(host));
  if (!ip || (ip->family() == lib::Family::ipv6) != in_brackets) return std::nullopt;
  const auto port = lib::parse_number<std::uint16_t>(text.substr(colon + 1), 1);
  return port ? std::optional(lib::SocketAddress{*ip, *port}) : std::nullopt;
}

}  // namespace sluice::config
