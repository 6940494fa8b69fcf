// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The metrics that this backend declares, under kube-proxy's names where kube-proxy has the same.
#pragma once

#include "plugins/common/declared_metrics.hpp"
#include "sluice/sdk/metrics.hpp"

namespace sluice::ipvs::metric {

// clang-format off
inline constexpr abi::StringView kPartLabel[] = {sdk::view("part")};

inline constexpr auto kAddresses = sdk::gauge("sluice_ipvs_addresses",
    "Number of addresses bound on kube-ipvs0.");
inline constexpr auto kDrainingRealServers = sdk::gauge("sluice_ipvs_draining_real_servers",
    "Number of IPVS real servers that receive no new connections and wait for their last connection to end.");
inline constexpr auto kMessages = sdk::counter("sluice_ipvs_messages_total",
    "Number of netlink messages that change state of IPVS, ipsets or links, by part.",
    "part: servers (IPVS), sets (ipset) or links.",
    sdk::array(kPartLabel));
inline constexpr auto kRealServers = sdk::gauge("sluice_ipvs_real_servers",
    "Number of IPVS real servers of Services.",
    "Includes draining ones.");
inline constexpr auto kSetEntries = sdk::gauge("sluice_ipvs_set_entries",
    "Number of entries in all ipsets of the backend.");
inline constexpr auto kVirtualServers = sdk::gauge("sluice_ipvs_virtual_servers",
    "Number of IPVS virtual servers of Services.");

inline constexpr abi::MetricSpec kAll[] = {
    kAddresses, kDrainingRealServers, kMessages, kRealServers, kSetEntries, kVirtualServers,
    common::metric::kRestoreFailures, common::metric::kNoLocalEndpoints, common::metric::kLockTimeouts,
    common::metric::kLockWait,
};
// clang-format on

}  // namespace sluice::ipvs::metric
