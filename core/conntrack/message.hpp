// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Messages of the kernel's connection tracking: requests written, entries read. Pure.
#pragma once

#include <libmnl/libmnl.h>

#include <cstdint>
#include <optional>

#include "core/conntrack/flow.hpp"

namespace sluice::conntrack {

// Room enough for each of the requests below.
inline constexpr std::size_t kConntrackRequestRoom = 512;

// Asks for the UDP entries of the family that fit. `filtered`: lets the kernel choose;
// without it every entry comes, of whatever family and protocol, and with kernels before 5.8
// every one of the family.
nlmsghdr* put_conntrack_dump(void* buffer, base::Family family, const FlowQuery& query, bool filtered,
                             std::uint32_t sequence);

// Asks for the removal of exactly this entry. It names the entry's tuple and number
// always: without a tuple the request would mean the whole table.
nlmsghdr* put_conntrack_delete(void* buffer, base::Family family, const Flow& flow, std::uint32_t sequence);

// The entry a message shows; nothing when it is no UDP flow, or in another zone than 0.
std::optional<Flow> read_conntrack_entry(const nlmsghdr* message);

}  // namespace sluice::conntrack
