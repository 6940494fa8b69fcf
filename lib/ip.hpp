// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// IP addresses and prefixes as values: parse, print, order, hash.
//
// Text is read as kube-proxy reads it: leading zeros in IPv4 octets are decimal
// ("010.1.2.3" is 10.1.2.3), an IPv4-mapped IPv6 address is IPv4. Printing is canonical.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::lib {

enum class Family : std::uint8_t { ipv4 = 4, ipv6 = 6 };
inline constexpr std::array<Family, 2> kFamilies{Family::ipv4, Family::ipv6};

std::string_view family_name(Family family);  // "IPv4", "IPv6"
inline std::size_t family_index(Family family) { return family == Family::ipv4 ? 0 : 1; }
inline int family_bits(Family family) { return family == Family::ipv4 ? 32 : 128; }

// Sets all bits of an address of `size` bytes to zero but the first `length`.
void clear_host_bits(std::uint8_t* bytes, std::size_t size, unsigned length) noexcept;

class IpAddress {
 public:
  IpAddress() = default;  // 0.0.0.0
  static std::optional<IpAddress> parse(std::string_view text);
  // `bytes`: 4 or 16 bytes in network order.
  static IpAddress from_bytes(Family family, const void* bytes);
  static IpAddress any(Family family);
  static IpAddress loopback(Family family);

  Family family() const { return family_; }
  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }  // IPv4: the first four
  bool is_unspecified() const;
  bool is_loopback() const;
  // "unspecified", "loopback", "link-local", "multicast" or "broadcast"; empty for the address of a single host.
  std::string_view special_kind() const;
  std::string to_string() const;

  auto operator<=>(const IpAddress&) const = default;

 private:
  Family family_ = Family::ipv4;
  std::array<std::uint8_t, 16> bytes_{};
};

class IpPrefix {
 public:
  IpPrefix() = default;  // 0.0.0.0/0
  static std::optional<IpPrefix> parse(std::string_view text);
  IpPrefix(const IpAddress& address, int length);

  const IpAddress& address() const { return address_; }  // host bits are zero
  int length() const { return length_; }
  Family family() const { return address_.family(); }
  bool contains(const IpAddress& address) const;
  bool contains(const IpPrefix& other) const;
  std::string to_string() const;

  auto operator<=>(const IpPrefix&) const = default;

 private:
  IpAddress address_;
  int length_ = 0;
};

struct SocketAddress {
  // Brackets around the address are optional.
  static std::optional<SocketAddress> parse(std::string_view text);

  IpAddress address;
  std::uint16_t port = 0;
  std::string to_string() const;  // as host_port()
  auto operator<=>(const SocketAddress&) const = default;
};

// "1.2.3.4:80" or "[fd00::1]:80".
std::string host_port(const IpAddress& address, std::uint16_t port);

}  // namespace sluice::lib

template <>
struct std::hash<sluice::lib::IpAddress> {
  std::size_t operator()(const sluice::lib::IpAddress& a) const noexcept {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(a.bytes().data()), a.bytes().size()});
  }
};
