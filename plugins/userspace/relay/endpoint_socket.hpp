// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sockets from the relay to endpoints. Their packets carry a mark that the portal rules in the OUTPUT chains exclude.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/fd.hpp"

namespace sluice::userspace {

// The packet mark of one IP family: written by its apply thread, read by relay threads. 0: none.
using RelayMark = std::atomic<std::uint32_t>;

// 0 or an errno.
[[nodiscard]] int set_mark(int socket, std::uint32_t mark) noexcept;

// Opens a non-blocking socket of type SOCK_STREAM or SOCK_DGRAM. 0 or an errno. If the kernel refuses the mark it is
// ignored here: the probe of this backend fails in that case.
[[nodiscard]] int open_endpoint_socket(int family, int type, std::uint32_t mark, lib::Fd& out) noexcept;

// Before connect(), if there is data to send: the first data acknowledges the SYN of the endpoint, which saves a packet.
// Without data, the endpoint would see the connection up to 0.2 s later.
void acknowledge_with_data(int socket) noexcept;

}  // namespace sluice::userspace
