// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sockets of this network namespace, from /proc.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sluice/abi/types.hpp"

namespace sluice::sockets {

struct Socket {
  abi::Address address{};  // all zero: any
  std::uint16_t port = 0;
  int state = 0;  // a value of <netinet/tcp.h>, for UDP, too
  std::uint64_t inode = 0;
};

// `table`: "tcp", "tcp6", "udp", "udp6". The kernel lists TCP listeners before other sockets. Ends when `visit` returns
// false.
void each_socket(const std::string& table, const std::function<bool(const Socket&)>& visit);

struct Listener {
  abi::Address address{};  // of the family asked for; all zero: any
  std::uint16_t port = 0;
};
// Sockets that accept TCP connections, or UDP datagrams, on addresses of `family`. IPv6 sockets bound to [::] count for
// IPv4 as well, because /proc does not show IPV6_V6ONLY. Empty for other protocols.
std::vector<Listener> listeners(abi::Family family, abi::Protocol protocol);

}  // namespace sluice::sockets
