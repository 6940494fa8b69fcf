// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "netecho_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "netecho_options.hpp"

namespace netecho {

Protocol parse_protocol(std::string_view text) {
  if (text == "tcp") return Protocol::tcp;
  if (text == "udp") return Protocol::udp;
  if (text == "sctp") return Protocol::sctp;
  throw UsageError("protocol must be tcp, udp or sctp, not '" + std::string(text) + "'");
}

Fd::~Fd() {
  if (number_ >= 0) ::close(number_);
}

std::string Address::ip() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = family() == AF_INET
                          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(storage).sin_addr)
                          : static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr);
  return inet_ntop(family(), bytes, text.data(), text.size()) ? text.data() : "?";
}

std::uint16_t Address::port() const {
  return ntohs(family() == AF_INET ? reinterpret_cast<const sockaddr_in&>(storage).sin_port
                                   : reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
}

void Address::set_port(std::uint16_t port) {
  (family() == AF_INET ? reinterpret_cast<sockaddr_in&>(storage).sin_port
                       : reinterpret_cast<sockaddr_in6&>(storage).sin6_port) = htons(port);
}

Address make_address(const std::string& ip, std::uint16_t port) {
  Address address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (inet_pton(AF_INET, ip.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    address.length = sizeof v4;
  } else if (inet_pton(AF_INET6, ip.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    address.length = sizeof v6;
  } else {
    throw UsageError("'" + ip + "' is not an IP address");
  }
  return address;
}

Address parse_source(const std::string& text) {
  if (text.starts_with('[')) {
    const auto end = text.find("]:");
    if (end == std::string::npos) throw UsageError("source '" + text + "': expected [IPv6]:PORT");
    return make_address(text.substr(1, end - 1), parse_port(text.substr(end + 2)));
  }
  const auto colon = text.find(':');
  const bool v4_with_port = colon != std::string::npos && text.find(':', colon + 1) == std::string::npos;
  if (v4_with_port) return make_address(text.substr(0, colon), parse_port(text.substr(colon + 1)));
  return make_address(text, 0);
}

namespace {

Address name_of(int socket, int (*ask)(int, sockaddr*, socklen_t*)) {
  Address address;
  address.length = sizeof address.storage;
  if (ask(socket, address.raw(), &address.length) != 0) address = make_address("0.0.0.0", 0);
  return address;
}

}  // namespace

Address peer_of(int socket) { return name_of(socket, ::getpeername); }
Address local_of(int socket) { return name_of(socket, ::getsockname); }

Fd open_socket(int family, Protocol protocol) {
  const int kind = protocol == Protocol::udp ? SOCK_DGRAM : SOCK_STREAM;
  const int number = protocol == Protocol::sctp ? IPPROTO_SCTP : 0;
  return Fd(::socket(family, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, number));
}

}  // namespace netecho
