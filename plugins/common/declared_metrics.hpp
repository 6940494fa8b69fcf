// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The metrics that several backends declare, under kube-proxy's names where kube-proxy has the same.
#pragma once

#include "sluice/sdk/metrics.hpp"

namespace sluice::common::metric {

// clang-format off
inline constexpr abi::StringView kTrafficPolicyLabel[] = {sdk::view("traffic_policy")};

inline constexpr auto kRestoreFailures = sdk::counter("kubeproxy_sync_proxy_rules_iptables_restore_failures_total",
    "[ALPHA] Cumulative proxy iptables restore failures",
    "Syncs in which iptables-restore failed or rejected a line.");
inline constexpr auto kNoLocalEndpoints = sdk::gauge("kubeproxy_sync_proxy_rules_no_local_endpoints_total",
    "[ALPHA] Number of services with a Local traffic policy and no endpoints",
    "Service ports with a Local policy whose endpoints are all on other nodes; in ipvs mode Services, as in "
    "kube-proxy.",
    sdk::array(kTrafficPolicyLabel));
inline constexpr auto kLockTimeouts = sdk::counter("sluice_iptables_lock_timeouts_total",
    "Number of syncs aborted because another process held the xtables lock.",
    "Legacy iptables only.");
inline constexpr auto kLockWait = sdk::counter("sluice_iptables_lock_wait_seconds_total",
    "Time spent waiting for the xtables lock, in seconds.",
    "Legacy iptables only.");
// clang-format on

}  // namespace sluice::common::metric
