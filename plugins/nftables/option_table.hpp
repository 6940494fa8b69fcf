// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The options of the backend: part of its descriptor, and the source of their documentation. Sorted by key.
#pragma once

#include "sluice/sdk/option_table.hpp"

namespace sluice::nftables {

// clang-format off
inline constexpr abi::OptionSpec kOptions[] = {
    // The kernel allocates up to 16 bytes per client when it creates the map, and some 130 more when a client is added.
    sdk::option::integer("affinityClients", "262144", 1024, 1048576, "clients",
        "Maximum number of clients with session affinity, per address family. Another value replaces the table in "
        "one transaction; a restart loses the bindings then."),
    sdk::option::boolean("counters", "false",
        "Count packets and bytes of each Service. false after true replaces the table in one transaction."),
    sdk::option::list(64, sdk::option::text("offloadInterfaces[]", "", "an interface name, or a prefix of names followed by *",
        "Forward established TCP and UDP connections to Services that arrive at these interfaces by a flowtable of the "
        "kernel. Their packets skip the forward hook, with the rules of other programs there. Cannot be combined with "
        "counters. Emptying the list replaces the table in one transaction.")),
};
// clang-format on

}  // namespace sluice::nftables
