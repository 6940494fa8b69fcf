// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/ip.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "lib/number.hpp"

namespace sluice::lib {
namespace {

std::optional<std::array<std::uint8_t, 4>> parse_ipv4(std::string_view text) {
  std::array<std::uint8_t, 4> out{};
  for (int i = 0; i < 4; ++i) {
    const auto dot = text.find('.');
    if ((dot == std::string_view::npos) != (i == 3)) return std::nullopt;
    const std::string_view part = text.substr(0, dot);
    // Leading zeros are accepted, but not more digits than an int can hold.
    if (part.empty() || part.size() > 9) return std::nullopt;
    const auto value = parse_number<std::uint8_t>(part);
    if (!value) return std::nullopt;
    out[static_cast<std::size_t>(i)] = *value;
    if (i < 3) text.remove_prefix(dot + 1);
  }
  return out;
}

constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

std::string_view family_name(Family family) { return family == Family::ipv4 ? "IPv4" : "IPv6"; }

void clear_host_bits(std::uint8_t* bytes, std::size_t size, unsigned length) noexcept {
  for (std::size_t bit = length; bit < size * 8; ++bit) {
    bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] & ~(0x80u >> (bit % 8)));
  }
}

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  if (text.find(':') == std::string_view::npos) {
    const auto v4 = parse_ipv4(text);
    if (!v4) return std::nullopt;
    return from_bytes(Family::ipv4, v4->data());
  }
  char buffer[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof buffer) return std::nullopt;
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
  std::array<std::uint8_t, 16> v6{};
  if (inet_pton(AF_INET6, buffer, v6.data()) != 1) return std::nullopt;
  if (std::equal(kMapped.begin(), kMapped.end(), v6.begin())) return from_bytes(Family::ipv4, v6.data() + 12);
  return from_bytes(Family::ipv6, v6.data());
}

IpAddress IpAddress::from_bytes(Family family, const void* bytes) {
  IpAddress out;
  out.family_ = family;
  std::memcpy(out.bytes_.data(), bytes, family == Family::ipv4 ? 4 : 16);
  return out;
}

IpAddress IpAddress::any(Family family) {
  IpAddress out;
  out.family_ = family;
  return out;
}

IpAddress IpAddress::loopback(Family family) {
  IpAddress out = any(family);
  if (family == Family::ipv4) {
    out.bytes_[0] = 127;
    out.bytes_[3] = 1;
  } else {
    out.bytes_[15] = 1;
  }
  return out;
}

bool IpAddress::is_unspecified() const { return *this == any(family_); }

bool IpAddress::is_loopback() const {
  return family_ == Family::ipv4 ? bytes_[0] == 127 : *this == loopback(Family::ipv6);
}

std::string_view IpAddress::special_kind() const {
  if (is_unspecified()) return "unspecified";
  if (is_loopback()) return "loopback";
  if (family_ == Family::ipv6) {
    if (bytes_[0] == 0xff) return "multicast";
    return bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80 ? "link-local" : "";
  }
  if ((bytes_[0] & 0xf0) == 0xe0) return "multicast";
  if (bytes_[0] == 169 && bytes_[1] == 254) return "link-local";
  return std::all_of(bytes_.begin(), bytes_.begin() + 4, [](auto byte) { return byte == 255; }) ? "broadcast" : "";
}

std::string IpAddress::to_string() const {
  char buffer[INET6_ADDRSTRLEN] = "";
  inet_ntop(family_ == Family::ipv4 ? AF_INET : AF_INET6, bytes_.data(), buffer, sizeof buffer);
  return buffer;
}

IpPrefix::IpPrefix(const IpAddress& address, int length) : length_(length) {
  auto bytes = address.bytes();
  clear_host_bits(bytes.data(), bytes.size(), static_cast<unsigned>(length));
  address_ = IpAddress::from_bytes(address.family(), bytes.data());
}

std::optional<IpPrefix> IpPrefix::parse(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = IpAddress::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  const auto length = parse_number(text.substr(slash + 1), 0, family_bits(address->family()));
  return length ? std::optional(IpPrefix(*address, *length)) : std::nullopt;
}

bool IpPrefix::contains(const IpAddress& address) const {
  return address.family() == family() && IpPrefix(address, length_).address_ == address_;
}

bool IpPrefix::contains(const IpPrefix& other) const {
  return other.length_ >= length_ && contains(other.address_);
}

std::string IpPrefix::to_string() const { return address_.to_string() + "/" + std::to_string(length_); }

std::optional<SocketAddress> SocketAddress::parse(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto address = IpAddress::parse(host);
  const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
  return address && port ? std::optional(SocketAddress{*address, *port}) : std::nullopt;
}

std::string SocketAddress::to_string() const { return host_port(address, port); }

std::string host_port(const IpAddress& address, std::uint16_t port) {
  if (address.family() == Family::ipv6) return "[" + address.to_string() + "]:" + std::to_string(port);
  return address.to_string() + ":" + std::to_string(port);
}

}  // namespace sluice::lib
