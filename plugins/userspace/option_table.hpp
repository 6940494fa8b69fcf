// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The options of the backend: part of its descriptor, and the source of their documentation. Sorted by key.
#pragma once

#include "sluice/sdk/option_table.hpp"

namespace sluice::userspace {

namespace bounds {
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
inline constexpr std::int64_t kMany = 10'000'000;
}  // namespace bounds

// clang-format off
inline constexpr abi::OptionSpec kOptions[] = {
    sdk::option::word("balance", "roundRobin", "roundRobin|leastConnections|powerOfTwoChoices",  // the order of Balance
        "Selection of the endpoint for a new connection: roundRobin, in turn from a shuffled list; leastConnections, "
        "the endpoint with the fewest open connections from this node; powerOfTwoChoices, the less loaded of two "
        "random endpoints."),
    sdk::option::list(16, sdk::option::duration("dialTimeouts[]", "250ms, 500ms, 1s, 2s", bounds::milliseconds(1), bounds::minutes(1),
        "Timeouts of the first, second and further attempts to connect to an endpoint.")),
    sdk::option::duration("drainTimeout", "30s", bounds::hours(0), bounds::hours(24),
        "With whenEndpointRemoved: drain: maximum time for which established connections to a removed endpoint "
        "continue."),
    sdk::option::integer("maxAffinityClients", "100000", 1, bounds::kMany, "clients",
        "Maximum number of clients with session affinity per list of endpoints; beyond it, the client not seen for "
        "longest is dropped. A client needs some 60 bytes."),
    sdk::option::integer("maxConnections", "0", 0, bounds::kMany, "connections",
        "Maximum number of TCP connections of all Services; at the maximum, the proxy stops accepting. 0 means as "
        "many as file descriptors allow."),
    sdk::option::integer("maxUDPClients", "65536", 1, bounds::kMany, "clients",
        "Maximum number of UDP clients of all Services; beyond it, the client idle for longest is dropped."),
    sdk::option::integer("outlierFailures", "3", 0, 1000, "failures",
        "Number of consecutive failed dials after which new connections avoid an endpoint; 0 disables this."),
    sdk::option::duration("outlierFirstPause", "1s", bounds::milliseconds(1), bounds::hours(24),
        "First time for which new connections avoid such an endpoint; at most outlierLongestPause. Then one connection "
        "tries it: success ends the pause, failure doubles it. If every endpoint is avoided, all are used."),
    sdk::option::duration("outlierLongestPause", "1m", bounds::milliseconds(1), bounds::hours(24),
        "Maximum of the doubled pause."),
    sdk::option::integer("pipeSize", "1048576", 4096, 16 << 20, "bytes",
        "Maximum number of bytes in transit in one direction of one busy connection."),
    sdk::option::list(1000, sdk::option::text("proxyProtocol[]", "", "NAMESPACE/SERVICE, NAMESPACE/SERVICE:PORT or NAMESPACE/*",
        "Services whose endpoints receive the client address by PROXY protocol v2 (TCP only; the endpoints must "
        "expect it).")),
    sdk::option::duration("stopDrainTimeout", "30s", bounds::hours(0), bounds::hours(24),
        "Maximum time for which established TCP connections continue after the daemon has been stopped, in a process "
        "of their own; 0s resets them. Has no effect under a service manager or in a container."),
    sdk::option::duration("tcpIdleTimeout", "0s", bounds::hours(0), bounds::hours(720),
        "Timeout after which a TCP connection without traffic in either direction is closed; 0s disables it."),
    sdk::option::duration("tcpKeepalive", "15s", bounds::hours(0), bounds::hours(9),
        "Idle time before TCP keepalive probes, and interval between them, in whole seconds; 0s disables them."),
    sdk::option::integer("threads", "0", 0, 256, "threads",
        "Number of relay threads; 0 means one for each processor that the daemon may use."),
    sdk::option::text("userspace.listenAddress", "0.0.0.0", "an address of this node, or 0.0.0.0 or ::",
        "Address at which the proxy listens (--bind-address, bindAddress). An address of the other family, 0.0.0.0 "
        "and :: mean all addresses. Loopback addresses are rejected."),
    sdk::option::text("userspace.portRange", "", "nothing, or a range such as 30000-32767 or 30000+500",
        "Ports that the proxy may open (--proxy-port-range, portRange); empty, or a first port of 0, lets the "
        "kernel choose."),
    sdk::option::duration("userspace.udpTimeout", "30s", bounds::nanoseconds(1), bounds::nanoseconds(sdk::option::kHighest),
        "Timeout of idle UDP flows (--udp-timeout, udpTimeout)."),
    sdk::option::word("whenEndpointRemoved", "keep", "keep|drain|reset",  // the order of WhenRemoved
        "Handling of established TCP connections whose endpoint or Service is removed: keep them until they end, "
        "drain them (reset after drainTimeout), or reset them at once. New connections use another endpoint at once."),
};
// clang-format on

}  // namespace sluice::userspace
