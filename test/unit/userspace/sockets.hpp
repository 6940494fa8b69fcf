// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sockets on the loopback for tests that open ports.
#pragma once

#include <cppunit/TestAssert.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "lib/fd.hpp"
#include "plugins/userspace/socket_address.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::test {

inline abi::Address loopback(abi::Family family) {
  return *sdk::parse_address(family == abi::Family::kIpv6 ? "::1" : "127.0.0.1", family);
}

inline bool has_ipv6() {
  const lib::Fd socket(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const userspace::SocketAddress address(abi::Family::kIpv6, loopback(abi::Family::kIpv6), 0);
  return socket && bind(socket.get(), address.get(), address.size()) == 0;
}

// A bound socket, 0: of a port the kernel chooses. Empty: the port is in use.
inline lib::Fd bound(abi::Family family, int type, const abi::Address& address, std::uint16_t port) {
  lib::Fd socket(::socket(sdk::socket_family(family), type | SOCK_CLOEXEC, 0));
  CPPUNIT_ASSERT(socket);
  const userspace::SocketAddress where(family, address, port);
  if (bind(socket.get(), where.get(), where.size()) == 0) return socket;
  CPPUNIT_ASSERT_EQUAL(EADDRINUSE, errno);
  return {};
}

inline std::uint16_t port_of(const lib::Fd& socket) {
  userspace::SocketAddress address;
  socklen_t size = userspace::SocketAddress::capacity();
  CPPUNIT_ASSERT_EQUAL(0, getsockname(socket.get(), address.get(), &size));
  return address.port();
}

// A port that no socket has for TCP or UDP at any address; each call returns another one. It is below
// net.ipv4.ip_local_port_range, so that the kernel does not assign it to a connection of another program.
inline std::uint16_t free_port(abi::Family family) {
  constexpr std::uint32_t kFirst = 10000;
  constexpr std::uint32_t kCount = 20000;
  static std::uint32_t next = static_cast<std::uint32_t>(getpid()) * 61;
  for (std::uint32_t tries = 0; tries < kCount; ++tries) {
    const auto port = static_cast<std::uint16_t>(kFirst + next++ % kCount);
    if (bound(family, SOCK_STREAM, {}, port) && bound(family, SOCK_DGRAM, {}, port)) return port;
  }
  CPPUNIT_FAIL("no port is free");
  return 0;
}

// Connects to the loopback. Returns 0 or an errno.
inline int connect_error(abi::Family family, std::uint16_t port) {
  const lib::Fd socket(::socket(sdk::socket_family(family), SOCK_STREAM | SOCK_CLOEXEC, 0));
  const userspace::SocketAddress where(family, loopback(family), port);
  return connect(socket.get(), where.get(), where.size()) == 0 ? 0 : errno;
}

}  // namespace sluice::test
