// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The PROXY protocol header, version 2, which contains the address of the client:
// https://www.haproxy.org/download/1.8/doc/proxy-protocol.txt
#pragma once

#include <array>
#include <cstddef>

#include "plugins/userspace/socket_address.hpp"

namespace sluice::userspace {

struct ProxyHeader {
  std::array<char, 52> bytes{};
  std::size_t size = 0;
};

// Pure. Both addresses are of one family.
ProxyHeader make_proxy_header(const SocketAddress& client, const SocketAddress& destination) noexcept;

// The header for an accepted socket: the client, and the original destination before the redirect, both queried from
// the kernel. A header without addresses if the kernel does not know them any more.
ProxyHeader proxy_header_of(int accepted) noexcept;

}  // namespace sluice::userspace
