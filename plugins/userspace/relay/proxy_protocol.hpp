// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The header of the PROXY protocol, version 2, by which an endpoint learns whose
// connection it is: https://www.haproxy.org/download/1.8/doc/proxy-protocol.txt
#pragma once

#include <array>
#include <cstddef>

#include "plugins/userspace/socket_address.hpp"

namespace sluice::userspace {

struct ProxyHeader {
  std::array<char, 52> bytes{};
  std::size_t size = 0;
};

// Pure. Both of one family.
ProxyHeader make_proxy_header(const SocketAddress& client, const SocketAddress& destination) noexcept;

// Asks the kernel about an accepted socket: the client, and where it meant to go before it was redirected. A header
// that names no addresses when the kernel does not know any more.
ProxyHeader proxy_header_of(int accepted) noexcept;

}  // namespace sluice::userspace
