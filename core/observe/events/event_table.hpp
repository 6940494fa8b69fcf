// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The Kubernetes events of the daemon. The events of backends are in plugins/common/event_reasons.hpp;
// docs/reference/events.md is generated from both. Data only.
#pragma once

#include <array>
#include <string_view>

namespace sluice::observe::event_table {

struct Row {
  std::string_view reason;
  std::string_view type;  // "Normal" or "Warning"
  std::string_view regarding;
  std::string_view action;
  std::string_view message;  // its form, with variable parts in capital letters
  std::string_view when;
};

inline constexpr Row kStarting{"Starting",       "Normal",          "Node",
                               "StartKubeProxy", "sluiced VERSION", "Once at each start."};
inline constexpr Row kHealthServer{"FailedToStartProxierHealthcheck",
                                   "Warning",
                                   "Node",
                                   "StartKubeProxy",
                                   "ERROR",
                                   "The health address cannot be bound, and bindAddressHardFail ends the daemon."};
inline constexpr Row kMetricsServer{"FailedToStartMetricServer",
                                    "Warning",
                                    "Node",
                                    "StartKubeProxy",
                                    "ERROR",
                                    "The metrics address cannot be bound, and bindAddressHardFail ends the daemon."};
inline constexpr Row kKernelSettings{
    "FailedToSetKernelSettings",
    "Warning",
    "Node",
    "StartKubeProxy",
    "ERROR; ERROR",
    "Kernel settings of the configuration cannot be written. The daemon continues to start."};
inline constexpr Row kServiceHealth{"FailedToStartServiceHealthcheck",
                                    "Warning",
                                    "Service",
                                    "Listen",
                                    "ERROR",
                                    "The health check node port of the Service cannot be opened."};
inline constexpr Row kNotProgrammed{"ServicePortNotProgrammed",
                                    "Warning",
                                    "Service",
                                    "SyncProxyRules",
                                    "backend ID did not program NAMESPACE/SERVICE:PORT: REASON",
                                    "The backend cannot program the service port; once for each reason."};
inline constexpr Row kReloaded{"ConfigurationReloaded",
                               "Normal",
                               "Node",
                               "Reload",
                               "CHANGE; CHANGE",
                               "A reload applied a change. A reload without a change writes no event."};
inline constexpr Row kReloadFailed{
    "ConfigurationReloadFailed",
    "Warning",
    "Node",
    "Reload",
    "keeping the running configuration (TRIGGER): ERROR; ERROR, or partially applied (TRIGGER): ERROR; CHANGE",
    "A reload failed."};
inline constexpr Row kBackend{"BackendEvent",        "Normal or Warning",
                              "Node or Service",     "RunBackend",
                              "backend ID: MESSAGE", "A backend reports an event without a reason of its own."};

inline constexpr std::array kRows{kStarting,      kHealthServer, kMetricsServer, kKernelSettings, kServiceHealth,
                                  kNotProgrammed, kReloaded,     kReloadFailed,  kBackend};

}  // namespace sluice::observe::event_table
