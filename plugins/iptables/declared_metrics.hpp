// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The metrics that this backend declares, under kube-proxy's names where kube-proxy has the same.
#pragma once

#include "plugins/common/declared_metrics.hpp"
#include "sluice/sdk/metrics.hpp"

namespace sluice::iptables::metric {

// clang-format off
inline constexpr abi::StringView kTableLabel[] = {sdk::view("table")};

inline constexpr auto kInvalidDropped = sdk::counter("kubeproxy_iptables_ct_state_invalid_dropped_packets_total",
    "[ALPHA] packets dropped by iptables to work around conntrack problems",
    "Packets dropped because their conntrack state was invalid; up to 20 s old. Absent if the kernel has no nfacct.",
    {}, 0);
inline constexpr auto kLocalhostAccepted = sdk::counter(
    "kubeproxy_iptables_localhost_nodeports_accepted_packets_total",
    "[ALPHA] Number of packets accepted on nodeports of loopback interface",
    "Packets to node ports on loopback addresses; up to 20 s old. Absent if the kernel has no nfacct.",
    {}, 0);
inline constexpr auto kRulesLast = sdk::gauge("kubeproxy_sync_proxy_rules_iptables_last",
    "[ALPHA] Number of iptables rules written by kube-proxy in last sync",
    "Lines that the last sync wrote. The daemon writes only differences: often 0, and much less than kube-proxy "
    "writes.",
    sdk::array(kTableLabel));
inline constexpr auto kPartialRestoreFailures = sdk::counter(
    "kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total",
    "[ALPHA] Cumulative proxy iptables partial restore failures",
    "Failures of iptables-restore in syncs of changes.");
inline constexpr auto kRulesTotal = sdk::gauge("kubeproxy_sync_proxy_rules_iptables_total",
    "[ALPHA] Total number of iptables rules owned by kube-proxy",
    "iptables rules that the backend owns.",
    sdk::array(kTableLabel));

inline constexpr abi::MetricSpec kAll[] = {
    kInvalidDropped, kLocalhostAccepted, kRulesLast, kPartialRestoreFailures, kRulesTotal,
    common::metric::kRestoreFailures, common::metric::kNoLocalEndpoints, common::metric::kLockTimeouts,
    common::metric::kLockWait,
};
// clang-format on

}  // namespace sluice::iptables::metric
