// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Ids of the log messages of our backends. docs/reference/log.md is generated from this table, as from
// core/base/log_messages.hpp. A row: constant, id, level, meaning, remedy (empty: none is needed).
#pragma once

#include <string_view>

namespace sluice::log_id {

#define SLUICE_LOG_ID(name, id, level, meaning, remedy) inline constexpr std::string_view name = id

SLUICE_LOG_ID(kAffinityFileRejected, "affinity-file-rejected", "warning",
              "A file of session affinity that an earlier process left in the state directory, or records in it, are "
              "malformed or not trusted, and were ignored. These clients may reach another endpoint.",
              "Find the program that writes to the state directory.");
SLUICE_LOG_ID(kAffinityFileUnwritable, "affinity-file-unwritable", "warning",
              "Session affinity of userspace mode cannot be written to the state directory. After a restart, clients "
              "may reach another endpoint.",
              "Check that the state directory is writable and has space.");
SLUICE_LOG_ID(kAffinityNotImported, "affinity-not-imported", "warning",
              "The session affinity of some clients was not imported from the old backend; these clients may reach "
              "another endpoint.",
              "If the line names it, raise ip_list_tot of xt_recent (iptables) or affinityClients (nftables).");
SLUICE_LOG_ID(kCanaryFailed, "canary-failed", "warning",
              "The chain KUBE-PROXY-CANARY of table mangle cannot be created. With legacy iptables, every "
              "verification then lists all rules.",
              "Fix the error that the line names.");
SLUICE_LOG_ID(kChainsNotRemoved, "chains-not-removed", "warning",
              "The iptables programs cannot be used, so the chains of ipvs mode stay in the kernel.",
              "Install the package iptables, stop the daemon and run sluiced --cleanup.");
SLUICE_LOG_ID(kCleanupSkipped, "cleanup-skipped", "warning",
              "The clean-up of the backend was skipped because the iptables programs cannot be used.",
              "Install the package iptables and run sluiced --cleanup again.");
SLUICE_LOG_ID(kClientAddressHidden, "client-address-hidden", "warning",
              "In userspace mode, endpoints see an address of the node instead of the client's. Logged once per "
              "address family.",
              "Grant the capability or load the kernel module that the line names, and restart the daemon.");
SLUICE_LOG_ID(kConnectionsMaybeReset, "connections-maybe-reset", "warning",
              "Conntrack notifications were lost, or an entry could not be restored, while ipvs mode retired. "
              "Connections may have been reset.",
              "");
SLUICE_LOG_ID(kCounterMissing, "counter-missing", "info",
              "The kernel cannot create an nfacct counter; the rules do not count these packets.",
              "Load nfnetlink_acct if you need the two packet counters of iptables mode.");
SLUICE_LOG_ID(kCountersRefused, "counters-refused", "warning",
              "The kernel rejects rules with nfacct counters; the rules are written without them.",
              "Load xt_nfacct if you need the two packet counters of iptables mode.");
SLUICE_LOG_ID(kDrainFileInvalidLines, "drain-file-invalid-lines", "warning",
              "The file of draining real servers has invalid lines, which are ignored. These servers start over with "
              "the full drain timeout.",
              "");
SLUICE_LOG_ID(kDrainFileUnreadable, "drain-file-unreadable", "warning",
              "The file of draining real servers cannot be read; these servers start over with the full drain "
              "timeout.",
              "Fix its permissions, or remove the file that the line names.");
SLUICE_LOG_ID(kDrainFileUnwritable, "drain-file-unwritable", "warning",
              "The file of draining real servers cannot be written. After a restart, these servers start over with "
              "the full drain timeout.",
              "Check that the state directory is writable and has space.");
SLUICE_LOG_ID(kDrainTimeout, "drain-timeout", "info or warning",
              "The drain timeout of a retiring backend expired, and the remaining connections end. The level is info "
              "in ipvs mode and warning in userspace mode.",
              "Raise drainTimeout of the SluiceConfiguration if clients need longer.");
SLUICE_LOG_ID(kFlowKeeperFailed, "flow-keeper-failed", "warning",
              "Conntrack events cannot be received. A client that reuses a port may lose its connection while ipvs "
              "mode retires.",
              "Grant CAP_NET_ADMIN and load nf_conntrack_netlink.");
SLUICE_LOG_ID(kFlowsRestored, "flows-restored", "info",
              "Conntrack entries that IPVS removed while ipvs mode retired were restored.",
              "");
SLUICE_LOG_ID(kFlowsRestoredLate, "flows-restored-late", "warning",
              "Some conntrack entries were restored too late; their connections may be reset.",
              "");
SLUICE_LOG_ID(kIptablesPrograms, "iptables-programs", "info",
              "The iptables programs that the backend uses, and in ipvs mode the scheduler.",
              "");
SLUICE_LOG_ID(kIptablesVariantConflict, "iptables-variant-conflict", "warning",
              "The node has rules in both variants of iptables, legacy and nf_tables, or its legacy tables cannot be "
              "read. Packets pass both.",
              "Remove the chains of the other variant as the line says, restart the node, or grant CAP_NET_RAW.");
SLUICE_LOG_ID(kIpvsConnectionsUnreadable, "ipvs-connections-unreadable", "warning",
              "Not all IPVS connections could be read during a swap; some clients lose their session affinity.",
              "");
SLUICE_LOG_ID(kKeptSocketIgnored, "kept-socket-ignored", "warning",
              "A socket that systemd kept does not fit its service port and is closed.",
              "");
SLUICE_LOG_ID(kLinkCreated, "link-created", "info",
              "The link kube-ipvs0, which has the service addresses, was created.",
              "");
SLUICE_LOG_ID(kNodeConnectionsEnd, "node-connections-end", "warning",
              "A source address could not be set for the retirement of ipvs mode. Connections of the node itself to "
              "service addresses end with the drain.",
              "");
SLUICE_LOG_ID(kNodeNotPrepared, "node-not-prepared", "warning",
              "A kernel setting that ipvs mode needs could not be written, or has a value that harms. The line names "
              "the effect.",
              "Run the command that the line names, or grant write access to /proc/sys.");
SLUICE_LOG_ID(kNodePortInUse, "node-port-in-use", "warning",
              "ipvs mode: another program listens on a node port. The line names it.",
              "Stop the program, or give the Service another node port.");
SLUICE_LOG_ID(kNodePortLoopbackUnsupported, "node-port-loopback-unsupported", "error",
              "Node ports cannot be served on a loopback address of nodePortAddresses in this mode; the address is "
              "ignored.",
              "Remove the address from nodePortAddresses.");
SLUICE_LOG_ID(kOffloadInterfaceRefused, "offload-interface-refused", "warning",
              "nftables mode: an interface could not be added to the flowtable or removed from it. Connections that arrive "
              "there are forwarded without offload. The daemon retries with each drift check.",
              "Fix the error that the line names, or remove the interface from offloadInterfaces.");
SLUICE_LOG_ID(kOpenFiles, "open-files", "info",
              "The limit of open files, and how many files the relay needs for each connection.",
              "");
SLUICE_LOG_ID(kOpenFilesUnreadable, "open-files-unreadable", "warning",
              "The limit of open files cannot be read and is not raised.",
              "");
SLUICE_LOG_ID(kRealServerDrainFailed, "real-server-drain-failed", "warning",
              "The kernel rejected a change of a draining real server; the daemon retries.",
              "");
SLUICE_LOG_ID(kRelayDrainEnded, "relay-drain-ended", "info",
              "--cleanup ended processes that continued relayed connections of earlier daemons, and these connections.",
              "");
SLUICE_LOG_ID(kRelayHampered, "relay-hampered", "warning",
              "The relay lacks file descriptors, kernel memory, local ports or epoll watches, or reached "
              "maxConnections. New TCP connections wait.",
              "See runbook SluiceUserspaceAcceptPaused; for epoll watches, raise fs.epoll.max_user_watches.");
SLUICE_LOG_ID(kRelayRecovered, "relay-recovered", "info",
              "A shortage of the relay that a relay-hampered line named has ended.",
              "");
SLUICE_LOG_ID(kRelayedConnectionsContinue, "relayed-connections-continue", "info",
              "The daemon ends, and established relayed connections continue in a process of their own, for at most "
              "stopDrainTimeout.",
              "");
SLUICE_LOG_ID(kRelayedConnectionsEnd, "relayed-connections-end", "info",
              "Relayed connections end with this instance of the userspace backend.",
              "");
SLUICE_LOG_ID(kRelayedConnectionsLost, "relayed-connections-lost", "warning",
              "Relayed connections were lost when the previous process ended.",
              "");
SLUICE_LOG_ID(kRelayedCountUnwritable, "relayed-count-unwritable", "warning",
              "The count of relayed connections cannot be written. The next process cannot report lost connections.",
              "Check that the state directory is writable and has space.");
SLUICE_LOG_ID(kRouteLocalnetFailed, "route-localnet-failed", "warning",
              "net.ipv4.conf.all.route_localnet could not be set; node ports do not answer on 127.0.0.1.",
              "Grant write access to /proc/sys, set the sysctl to 1 yourself, or set iptables.localhostNodePorts to "
              "false.");
SLUICE_LOG_ID(kSetInUse, "set-in-use", "warning",
              "An ipset is used by a foreign rule or set; it was emptied but not destroyed.",
              "Remove the foreign rule or set, then run ipset destroy with the name of the set.");
SLUICE_LOG_ID(kSocketsNotKept, "sockets-not-kept", "warning",
              "A socket cannot be kept for the next process. Logged once.",
              "Raise LimitNOFILE of the unit if the error is about open files.");
SLUICE_LOG_ID(kTwReuseFailed, "tw-reuse-failed", "warning",
              "net.ipv4.tcp_tw_reuse could not be set. More than some 400 short connections per second to one "
              "endpoint can run out of ports.",
              "Grant write access to /proc/sys, or set the sysctl to 1 yourself.");
SLUICE_LOG_ID(kVirtualServerChanged, "virtual-server-changed", "warning",
              "Another program changed or added a virtual server of a Service; the backend reads it again and "
              "restores it.",
              "Find and stop the program that changes IPVS virtual servers.");
SLUICE_LOG_ID(kXtablesLockWait, "xtables-lock-wait", "warning",
              "A sync waited a second or longer for the xtables lock.",
              "Find the program that holds the lock; see runbook SluiceXtablesLockContention.");

#undef SLUICE_LOG_ID

}  // namespace sluice::log_id
