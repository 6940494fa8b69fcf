// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The options of the backend: part of its descriptor, and the source of their documentation. Sorted by key.
#pragma once

#include "sluice/sdk/option_table.hpp"

namespace sluice::ipvs {

// Limit of the kernel, which counts jiffies in an int.
inline constexpr std::chrono::hours kLongestTimeout{555};
inline constexpr std::chrono::seconds kNoTimeout{0};

// clang-format off
inline constexpr abi::OptionSpec kOptions[] = {
    sdk::option::duration("drainTimeout", "30s", kNoTimeout, std::chrono::hours(24),
        "With whenEndpointRemoved: drain: maximum time for which established connections to a removed endpoint "
        "continue. Whole seconds; a fraction is rounded up."),
    sdk::option::text("ipvs.excludeCIDRs", "", "nothing, or CIDRs with commas between",
        "Address ranges whose virtual servers the backend does not change (--ipvs-exclude-cidrs). A Service that wants such "
        "an address and port is not programmed, and is named. Virtual servers of other programs elsewhere stay too, except "
        "those that a Service wants, which the backend adopts."),
    sdk::option::text("ipvs.scheduler", "rr", "a scheduler of the kernel, such as rr, lc or sh",
        "Scheduler of all virtual servers (--ipvs-scheduler); empty means rr. The module ip_vs_NAME must be available. sh "
        "runs with its fallback: clients of a draining endpoint move to another one. dh knows one endpoint for each "
        "address, and rejects connections while that one drains."),
    sdk::option::boolean("ipvs.strictARP", "false",
        "Do not answer ARP requests for addresses of kube-ipvs0 (--ipvs-strict-arp): sets arp_ignore and arp_announce. "
        "false leaves these sysctls as they are."),
    sdk::option::duration("ipvs.tcpFinTimeout", "0s", kNoTimeout, kLongestTimeout,
        "IPVS timeout of TCP connections after a FIN, for the whole node (--ipvs-tcpfin-timeout); 0s keeps the kernel "
        "value."),
    sdk::option::duration("ipvs.tcpTimeout", "0s", kNoTimeout, kLongestTimeout,
        "IPVS timeout of idle TCP connections, for the whole node (--ipvs-tcp-timeout); 0s keeps the kernel value."),
    sdk::option::duration("ipvs.udpTimeout", "0s", kNoTimeout, kLongestTimeout,
        "IPVS timeout of idle UDP flows, for the whole node (--ipvs-udp-timeout); 0s keeps the kernel value."),
    sdk::option::word("whenEndpointRemoved", "keep", "keep|drain|reset",  // the order of WhenRemoved
        "Handling of established TCP connections to a removed endpoint: keep them until they end, drain them (the "
        "endpoint and its connections end after drainTimeout), or reset them at once. New connections, UDP and SCTP "
        "use another endpoint at once."),
};
// clang-format on

}  // namespace sluice::ipvs
