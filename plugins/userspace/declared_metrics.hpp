// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The metrics that this backend declares, under kube-proxy's names where kube-proxy has the same.
#pragma once

#include "plugins/common/declared_metrics.hpp"
#include "sluice/sdk/metrics.hpp"

namespace sluice::userspace::metric {

// clang-format off
inline constexpr abi::StringView kProtocolTowardsLabels[] = {sdk::view("protocol"), sdk::view("towards")};
inline constexpr abi::StringView kMissingLabel[] = {sdk::view("missing")};
inline constexpr abi::StringView kResultLabel[] = {sdk::view("result")};
inline constexpr abi::StringView kReasonLabel[] = {sdk::view("reason")};
inline constexpr abi::StringView kProtocolLabel[] = {sdk::view("protocol")};
inline constexpr abi::StringView kTowardsLabel[] = {sdk::view("towards")};

inline constexpr auto kAffinityClients = sdk::gauge("sluice_userspace_affinity_clients",
    "Number of clients with session affinity in userspace mode.");
inline constexpr auto kBytes = sdk::counter("sluice_userspace_bytes_total",
    "Number of bytes relayed by protocol and direction.",
    "protocol: tcp or udp; towards: endpoint or client.",
    sdk::array(kProtocolTowardsLabels), 0);
inline constexpr auto kClaimConflicts = sdk::gauge("sluice_userspace_claim_conflicts",
    "Number of node ports of Services that another Service or process has bound.");
inline constexpr auto kClaims = sdk::gauge("sluice_userspace_claims",
    "Number of node ports held for Services.");
inline constexpr auto kClientAddressesHidden = sdk::gauge("sluice_userspace_client_addresses_hidden",
    "Whether endpoints of userspace mode see the node instead of clients (1), as of its last start, by what is "
    "missing.",
    "missing: CAP_NET_ADMIN, CAP_NET_RAW, or the module nf_conntrack_netlink.",
    sdk::array(kMissingLabel));
inline constexpr auto kClientAddresses = sdk::counter("sluice_userspace_client_addresses_total",
    "Number of dials and UDP clients of the userspace proxy, by the source address that the endpoint sees.",
    "result: kept (the client's address), masqueraded (the node's, as in iptables mode), or failed (the node's, "
    "because the client's could not be used).",
    sdk::array(kResultLabel), 0);
inline constexpr auto kConnections = sdk::gauge("sluice_userspace_connections",
    "Number of open TCP connections of clients of the userspace proxy.",
    "", {}, 0);
inline constexpr auto kConnectionsAccepted = sdk::counter("sluice_userspace_connections_accepted_total",
    "Number of TCP connections that the userspace proxy accepted.",
    "", {}, 0);
inline constexpr auto kConnectionsBroken = sdk::counter("sluice_userspace_connections_broken_total",
    "Number of relayed TCP connections that were reset, by reason.",
    "reason: reset by one end, idle for too long, or drained because the endpoint or Service was removed.",
    sdk::array(kReasonLabel), 0);
inline constexpr auto kConnectionsFailed = sdk::counter("sluice_userspace_connections_failed_total",
    "Number of accepted TCP connections closed without having reached an endpoint, by reason.",
    "reason: no_endpoint, or no_answer from every endpoint that was tried.",
    sdk::array(kReasonLabel), 0);
inline constexpr auto kConnectionsLost = sdk::counter("sluice_userspace_connections_lost_total",
    "Number of relayed TCP connections and UDP flows that ended with their process or at the drain timeout.",
    "",
    sdk::array(kProtocolLabel));
inline constexpr auto kDialsFailed = sdk::counter("sluice_userspace_dials_failed_total",
    "Number of failed attempts of the userspace proxy to connect to an endpoint.",
    "The proxy then tries the next endpoint.",
    {}, 0);
inline constexpr auto kDials = sdk::counter("sluice_userspace_dials_total",
    "Number of attempts of the userspace proxy to connect to an endpoint.",
    "", {}, 0);
inline constexpr auto kDraining = sdk::gauge("sluice_userspace_draining",
    "Number of TCP connections and UDP clients that retiring backends still relay.",
    "Present only after a swap.",
    sdk::array(kProtocolLabel));
inline constexpr auto kEndpointsPassedOver = sdk::gauge("sluice_userspace_endpoints_passed_over",
    "Number of endpoints that temporarily receive no new connections because they did not answer.",
    "The cause is consecutive failed dials; see outlierFailures.");
inline constexpr auto kPausedThreads = sdk::gauge("sluice_userspace_paused_threads",
    "Number of relay threads that currently accept no connections.",
    "Alert on it.",
    {}, 0);
inline constexpr auto kPauses = sdk::counter("sluice_userspace_pauses_total",
    "Number of times that a relay thread paused accepting connections, by reason.",
    "reason: out of file descriptors, memory or ports, or at the limit of maxConnections.",
    sdk::array(kReasonLabel), 0);
inline constexpr auto kPipes = sdk::gauge("sluice_userspace_pipes",
    "Number of pipes in use or reserved for busy connections.",
    "", {}, 0);
inline constexpr auto kPortals = sdk::gauge("sluice_userspace_portals",
    "Number of service ports that the userspace proxy relays.");
inline constexpr auto kUdpClients = sdk::gauge("sluice_userspace_udp_clients",
    "Number of clients of UDP Services in userspace mode.",
    "Each client has a socket of its own.",
    {}, 0);
inline constexpr auto kUdpClientsEnded = sdk::counter("sluice_userspace_udp_clients_ended_total",
    "Number of clients of UDP Services that expired or were evicted, by reason.",
    "reason: expired after udpTimeout, or evicted at maxUDPClients.",
    sdk::array(kReasonLabel), 0);
inline constexpr auto kUdpClientsOpened = sdk::counter("sluice_userspace_udp_clients_opened_total",
    "Number of new clients of UDP Services in userspace mode.",
    "", {}, 0);
inline constexpr auto kUdpDatagrams = sdk::counter("sluice_userspace_udp_datagrams_total",
    "Number of relayed UDP datagrams by direction.",
    "towards: endpoint or client.",
    sdk::array(kTowardsLabel), 0);
inline constexpr auto kUdpDropped = sdk::counter("sluice_userspace_udp_dropped_total",
    "Number of dropped UDP datagrams by reason.",
    "reason: no_endpoint, or full: a full buffer, or no descriptor left for a new client.",
    sdk::array(kReasonLabel), 0);
inline constexpr auto kUdpErrors = sdk::counter("sluice_userspace_udp_errors_total",
    "Number of socket errors of endpoints of UDP Services.",
    "ICMP errors, for example. The client gets another endpoint with its next datagram.",
    {}, 0);

inline constexpr abi::MetricSpec kAll[] = {
    kAffinityClients, kBytes, kClaimConflicts, kClaims, kClientAddressesHidden, kClientAddresses,
    kConnections, kConnectionsAccepted, kConnectionsBroken, kConnectionsFailed, kConnectionsLost,
    kDialsFailed, kDials, kDraining, kEndpointsPassedOver, kPausedThreads, kPauses, kPipes, kPortals,
    kUdpClients, kUdpClientsEnded, kUdpClientsOpened, kUdpDatagrams, kUdpDropped, kUdpErrors,
    common::metric::kLockTimeouts, common::metric::kLockWait,
};
// clang-format on

}  // namespace sluice::userspace::metric
