// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sockets of this network namespace, as /proc shows them.
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
  int state = 0;  // as <netinet/tcp.h> numbers them, of UDP too
  std::uint64_t inode = 0;
};

// `table`: "tcp", "tcp6", "udp", "udp6". In the kernel's order, which is that listeners of TCP come before everything
// else; until `visit` says false.
void each_socket(const std::string& table, const std::function<bool(const Socket&)>& visit);

struct Listener {
  abi::Address address{};  // of the family asked for; all zero: any
  std::uint16_t port = 0;
};
// Who takes in TCP connections, or UDP datagrams, at addresses of `family`: sockets of IPv6 that are open to every
// address take those of IPv4 as well, so far as /proc tells. None of other protocols.
std::vector<Listener> listeners(abi::Family family, abi::Protocol protocol);

}  // namespace sluice::sockets
