// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The Kubernetes events that backends of this repository report. All are warnings about the Node.
// docs/reference/events.md is generated from these rows. Data only.
#pragma once

#include <array>
#include <string_view>

namespace sluice::event_reasons {

struct Row {
  std::string_view reason;
  std::string_view mode;
  std::string_view when;
};

inline constexpr Row kNodeNotPrepared{"NodeNotPrepared", "ipvs",
                                      "A kernel setting or module that the mode needs is not available. The message "
                                      "names it, its effect and the remedy."};
inline constexpr Row kNodePortInUse{"NodePortInUse", "ipvs",
                                    "Another program listens on a node port; once for each port."};
inline constexpr Row kRelayHampered{
    "RelayHampered", "userspace",
    "The proxy lacks a resource, such as file descriptors, memory or ports, or reached a configured maximum."};
inline constexpr Row kRelayedConnectionsLost{
    "RelayedConnectionsLost", "userspace",
    "Relayed connections ended with the previous process. The message has their number."};
inline constexpr Row kRouteLocalnetFailed{
    "RouteLocalnetFailed", "iptables",
    "The sysctl route_localnet cannot be written; node ports do not answer on 127.0.0.1."};

inline constexpr std::array kRows{kNodeNotPrepared, kNodePortInUse, kRelayHampered, kRelayedConnectionsLost,
                                  kRouteLocalnetFailed};

}  // namespace sluice::event_reasons
