// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Ids of the log messages of our backends. docs/reference/log.md is generated from this table, as from
// core/base/log_messages.hpp. A row: constant, id, level, meaning, remedy (empty: none is needed).
#pragma once

#include <string_view>

namespace sluice::log_id {

#define SLUICE_LOG_ID(name, id, level, meaning, remedy) inline constexpr std::string_view name = id

SLUICE_LOG_ID(kAffinityExportFailed, "affinity-export-failed", "warning",
              "Session affinity cannot be read for the next backend.",
              "");
SLUICE_LOG_ID(kAffinityNotImported, "affinity-not-imported", "warning",
              "Session affinity of some clients was not imported from the old backend.",
              "");
SLUICE_LOG_ID(kCanaryFailed, "canary-failed", "warning",
              "The canary chain cannot be created; a flush of the rules is found later.",
              "See the error.");
SLUICE_LOG_ID(kChainsKept, "chains-kept", "warning",
              "Chains of ipvs mode cannot be removed now.",
              "See the error; run sluiced --cleanup.");
SLUICE_LOG_ID(kCleanupSkipped, "cleanup-skipped", "warning",
              "The clean-up was skipped because the iptables programs are missing.",
              "Install iptables.");
SLUICE_LOG_ID(kConnectionsMaybeReset, "connections-maybe-reset", "warning",
              "Connections may have been reset when ipvs mode retired.",
              "");
SLUICE_LOG_ID(kCounterMissing, "counter-missing", "info",
              "The kernel does not have an nfacct counter; packets are not counted.",
              "");
SLUICE_LOG_ID(kCountersRefused, "counters-refused", "warning",
              "The kernel rejected rules with nfacct counters; the rules are written without them.",
              "Load xt_nfacct.");
SLUICE_LOG_ID(kDrainFileInvalidLines, "drain-file-invalid-lines", "warning",
              "The file of draining real servers has invalid lines, which are ignored.",
              "");
SLUICE_LOG_ID(kDrainFileUnreadable, "drain-file-unreadable", "warning",
              "The file of draining real servers cannot be read; their drain starts over.",
              "Remove the file that the line names.");
SLUICE_LOG_ID(kDrainFileUnwritable, "drain-file-unwritable", "warning",
              "The file of draining real servers cannot be written.",
              "Check the state directory.");
SLUICE_LOG_ID(kDrainTimeout, "drain-timeout", "info or warning",
              "The drain timeout expired; the remaining connections end.",
              "Raise drainTimeout if clients need longer.");
SLUICE_LOG_ID(kFlowKeeperFailed, "flow-keeper-failed", "warning",
              "Conntrack events cannot be received while ipvs mode retires.",
              "Check the limit of the receive buffer (net.core.rmem_max).");
SLUICE_LOG_ID(kFlowsRestored, "flows-restored", "info",
              "Conntrack entries that IPVS removed were restored.",
              "");
SLUICE_LOG_ID(kFlowsRestoredLate, "flows-restored-late", "warning",
              "Some conntrack entries were restored too late; their connections may be reset.",
              "");
SLUICE_LOG_ID(kIpvsConnectionsUnreadable, "ipvs-connections-unreadable", "warning",
              "Not all IPVS connections could be read; some clients lose their session affinity.",
              "");
SLUICE_LOG_ID(kKeptSocketIgnored, "kept-socket-ignored", "warning",
              "A socket of the previous process does not fit and is closed.",
              "");
SLUICE_LOG_ID(kLinkCreated, "link-created", "info",
              "The link of the service addresses was created.",
              "");
SLUICE_LOG_ID(kNodeConnectionsEnd, "node-connections-end", "warning",
              "Connections of the node itself to service addresses end with the drain.",
              "");
SLUICE_LOG_ID(kNodeNotPrepared, "node-not-prepared", "warning",
              "A kernel setting of ipvs mode could not be changed.",
              "Grant the privilege that the line names, or set the sysctl yourself.");
SLUICE_LOG_ID(kNodePortLoopbackUnsupported, "node-port-loopback-unsupported", "error",
              "Node ports cannot be served on a loopback address in this mode; the address is ignored.",
              "Remove the address from nodePortAddresses.");
SLUICE_LOG_ID(kOpenFiles, "open-files", "info",
              "The limit of open files, and what the relay needs.",
              "");
SLUICE_LOG_ID(kOpenFilesUnreadable, "open-files-unreadable", "warning",
              "The limit of open files cannot be read.",
              "");
SLUICE_LOG_ID(kRealServerDrainFailed, "real-server-drain-failed", "warning",
              "The kernel rejected a change of a draining real server; the daemon retries.",
              "");
SLUICE_LOG_ID(kRelayAddressIgnored, "relay-address-ignored", "error",
              "A node port address is not usable in this mode.",
              "Correct nodePortAddresses.");
SLUICE_LOG_ID(kRelayHampered, "relay-hampered", "warning",
              "The relay lacks descriptors, ports or memory.",
              "See runbooks and the settings of userspace mode.");
SLUICE_LOG_ID(kRelayRecovered, "relay-recovered", "info",
              "The relay works again.",
              "");
SLUICE_LOG_ID(kRelayedConnectionsEnd, "relayed-connections-end", "info",
              "Relayed connections end with this backend.",
              "");
SLUICE_LOG_ID(kRelayedConnectionsLost, "relayed-connections-lost", "warning",
              "Relayed connections were lost when the previous process ended.",
              "");
SLUICE_LOG_ID(kRelayedCountUnwritable, "relayed-count-unwritable", "warning",
              "The count of relayed connections cannot be written.",
              "Check the state directory.");
SLUICE_LOG_ID(kRouteLocalnetFailed, "route-localnet-failed", "warning",
              "The sysctl for node ports on 127.0.0.1 could not be set.",
              "Grant write access to /proc/sys, or set net.ipv4.conf.all.route_localnet yourself.");
SLUICE_LOG_ID(kSetInUse, "set-in-use", "warning",
              "An ipset is used by a foreign rule; it was emptied and not destroyed.",
              "Remove the foreign rule.");
SLUICE_LOG_ID(kSocketsNotKept, "sockets-not-kept", "warning",
              "Sockets cannot be kept for the next process.",
              "Set FileDescriptorStoreMax of the unit.");
SLUICE_LOG_ID(kTools, "tools", "info",
              "The programs and the scheduler that the backend uses.",
              "");
SLUICE_LOG_ID(kToolsWarning, "tools-warning", "warning",
              "The installed iptables programs have a problem that the line names.",
              "Install a matching version of iptables.");
SLUICE_LOG_ID(kTwReuseFailed, "tw-reuse-failed", "warning",
              "The sysctl net.ipv4.tcp_tw_reuse cannot be set.",
              "Set it to 1 yourself.");
SLUICE_LOG_ID(kVirtualServerDiffers, "virtual-server-differs", "warning",
              "A virtual server of another process has the address of a Service.",
              "Remove the foreign virtual server, or change the Service.");
SLUICE_LOG_ID(kXtablesLockWait, "xtables-lock-wait", "warning",
              "Another program held the xtables lock for a long time.",
              "Find the program that changes iptables rules.");

#undef SLUICE_LOG_ID

}  // namespace sluice::log_id
