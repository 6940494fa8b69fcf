// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sockets by which the relay reaches endpoints. Their packets carry a mark, by which the portal rules of the OUTPUT
// chains leave them alone.
#pragma once

#include <atomic>
#include <cstdint>

#include "plugins/userspace/descriptor.hpp"

namespace sluice::userspace {

// The mark of one IP family: written by its apply thread, read by relay threads. 0: none.
using RelayMark = std::atomic<std::uint32_t>;

// 0 or an errno.
[[nodiscard]] int set_mark(int socket, std::uint32_t mark) noexcept;

// A non-blocking socket of that address family, SOCK_STREAM or SOCK_DGRAM. 0 or an errno. A mark that the kernel
// refuses is left out: the probe of this backend fails then, before anything is served.
[[nodiscard]] int open_endpoint_socket(int family, int type, std::uint32_t mark, Descriptor& out) noexcept;

}  // namespace sluice::userspace
