// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The metrics that this backend declares, under kube-proxy's names where kube-proxy has the same.
#pragma once

#include "plugins/common/declared_metrics.hpp"
#include "sluice/sdk/metrics.hpp"

namespace sluice::nftables::metric {

// clang-format off
inline constexpr abi::StringView kServiceLabel[] = {sdk::view("service")};
inline constexpr abi::StringView kResultLabel[] = {sdk::view("result")};

inline constexpr auto kCleanupFailures = sdk::counter("kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total",
    "[ALPHA] Cumulative proxy nftables cleanup failures",
    "Deletions of old chains that nftables rejected.");
inline constexpr auto kSyncFailures = sdk::counter("kubeproxy_sync_proxy_rules_nftables_sync_failures_total",
    "[ALPHA] Cumulative proxy nftables sync failures",
    "Transactions that nftables rejected.");
inline constexpr auto kChains = sdk::gauge("sluice_nftables_chains",
    "Number of nftables chains shared by Services.",
    "One for each service class and number of endpoints.");
inline constexpr auto kElements = sdk::gauge("sluice_nftables_elements",
    "Number of nftables set and map elements, excluding session affinity entries.");
inline constexpr auto kListings = sdk::counter("sluice_nftables_listings_total",
    "Number of times the whole nftables table was read.",
    "At start, after drift, and for sluicectl services.");
inline constexpr auto kOffloadInterfaces = sdk::gauge("sluice_nftables_offload_interfaces",
    "Number of interfaces in the nftables flowtable.",
    "Only with offloadInterfaces. 0 means that no interface of the node has such a name.");
inline constexpr auto kSavedListings = sdk::counter("sluice_nftables_saved_listings_total",
    "Number of starts at which the nftables table was not read, as nf_tables had not changed since the last process.",
    "The table is read later, to check this.");
inline constexpr auto kSentBytes = sdk::counter("sluice_nftables_sent_bytes_total",
    "Number of bytes sent to the kernel in nftables transactions.");
inline constexpr auto kServiceBytes = sdk::counter("sluice_nftables_service_bytes_total",
    "Number of bytes of connections to a Service that this node forwarded or sent.",
    "With counters: true. Both directions; includes connections that the node itself opens.",
    sdk::array(kServiceLabel), abi::kMetricByFamily | abi::kMetricPerService);
inline constexpr auto kServicePackets = sdk::counter("sluice_nftables_service_packets_total",
    "Number of packets of connections to a Service that this node forwarded or sent.",
    "With counters: true. Both directions; includes connections that the node itself opens.",
    sdk::array(kServiceLabel), abi::kMetricByFamily | abi::kMetricPerService);
inline constexpr auto kTransactions = sdk::counter("sluice_nftables_transactions_total",
    "Number of nftables transactions by result.",
    "result: carried_out or refused.",
    sdk::array(kResultLabel));

inline constexpr abi::MetricSpec kAll[] = {
    kCleanupFailures, kSyncFailures, kChains, kElements, kListings, kOffloadInterfaces, kSavedListings,
    kSentBytes, kServiceBytes, kServicePackets, kTransactions, common::metric::kNoLocalEndpoints,
};
// clang-format on

}  // namespace sluice::nftables::metric
