// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Writes requests to ctnetlink, without their number, and parses its entries. No I/O.
#pragma once

#include <cstddef>
#include <optional>

#include "core/conntrack/flow.hpp"

struct nlmsghdr;

namespace sluice::conntrack {

// Large enough for each request below.
inline constexpr std::size_t kConntrackRequestRoom = 512;

// Requests the UDP entries of the family that match. `filtered`: the kernel filters. Otherwise, it returns all entries
// of all families and protocols; kernels before 5.8 ignore the filter and return all entries of the family.
nlmsghdr* put_conntrack_dump(void* buffer, lib::Family family, const FlowQuery& query, bool filtered);

// Requests the removal of this entry. The request must contain a tuple: without one the kernel flushes the whole table.
nlmsghdr* put_conntrack_delete(void* buffer, lib::Family family, const Flow& flow);

// The entry of a message; nothing if it is not a UDP flow in zone 0.
std::optional<Flow> read_conntrack_entry(const nlmsghdr* message);

}  // namespace sluice::conntrack
