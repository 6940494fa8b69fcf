// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/listen_address.hpp"

#include <charconv>
#include <system_error>

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
  const std::string_view digits = text.substr(colon + 1);
  const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (in_brackets) host = host.substr(1, host.size() - 2);
  const auto ip = lib::IpAddress::parse(std::string(host));
  if (!ip || (ip->family() == lib::Family::ipv6) != in_brackets) return std::nullopt;
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port == 0) return std::nullopt;
  return lib::SocketAddress{*ip, port};
}

}  // namespace sluice::config
