// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/metrics/catalogue.hpp"

#include <algorithm>
#include <array>

namespace sluice::observe {
namespace {

constexpr auto kCounter = prometheus::MetricType::Counter;
constexpr auto kGauge = prometheus::MetricType::Gauge;
constexpr auto kHistogram = prometheus::MetricType::Histogram;
constexpr auto kDaemon = MetricOrigin::daemon;
constexpr auto kBackend = MetricOrigin::backend;

// BEH 10.4, and metrics of Kubernetes' shared libraries. Their help texts are those of Kubernetes, because dashboards
// show them.
// clang-format off
constexpr auto kDefinitions = std::to_array<MetricDefinition>({
    {"cardinality_enforcement_unexpected_categorizations_total", kCounter, "",
     "[ALPHA] The count of unexpected categorizations during cardinality enforcement.",
     "Always 0: there is no list of allowed label values."},
    {"disabled_metrics_total", kCounter, "",
     "[BETA] The count of disabled metrics.",
     "Always 0: no metric is disabled."},
    {"hidden_metrics_total", kCounter, "",
     "[BETA] The count of hidden metrics.",
     "Always 0: no metric is hidden."},
    {"kubeproxy_conntrack_reconciler_deleted_entries_total", kCounter, "ip_family",
     "[ALPHA] Cumulative conntrack flows deleted by conntrack reconciler",
     "UDP flows deleted because they led to a removed endpoint."},
    {"kubeproxy_conntrack_reconciler_sync_duration_seconds", kHistogram, "ip_family",
     "[ALPHA] ReconcileConntrackFlowsLatency latency in seconds",
     "Duration of a pass over the UDP flows.",
     kDaemon, Buckets::sync},
    {"kubeproxy_iptables_ct_state_invalid_dropped_packets_total", kCounter, "",
     "[ALPHA] packets dropped by iptables to work around conntrack problems",
     "Packets dropped because their conntrack state was invalid; up to 20 s old. Absent if the kernel has no nfacct.",
     kBackend},
    {"kubeproxy_iptables_localhost_nodeports_accepted_packets_total", kCounter, "",
     "[ALPHA] Number of packets accepted on nodeports of loopback interface",
     "Packets to node ports on loopback addresses; up to 20 s old. Absent if the kernel has no nfacct.",
     kBackend},
    {"kubeproxy_network_programming_duration_seconds", kHistogram, "ip_family",
     "[ALPHA] In Cluster Network Programming Latency in seconds",
     "Time from the trigger time of an EndpointSlice until the kernel has the change. Excludes trigger times before "
     "the start of the daemon.",
     kDaemon, Buckets::programming},
    {"kubeproxy_proxy_healthz_total", kCounter, "code",
     "[ALPHA] Cumulative proxy healthz HTTP status",
     "Responses of /healthz on the health address."},
    {"kubeproxy_proxy_livez_total", kCounter, "code",
     "[ALPHA] Cumulative proxy livez HTTP status",
     "Responses of /livez."},
    {"kubeproxy_sync_full_proxy_rules_duration_seconds", kHistogram, "ip_family",
     "[ALPHA] SyncProxyRules latency in seconds for full resyncs",
     "Duration of each full sync.",
     kDaemon, Buckets::sync},
    {"kubeproxy_sync_partial_proxy_rules_duration_seconds", kHistogram, "ip_family",
     "[ALPHA] SyncProxyRules latency in seconds for partial resyncs",
     "Duration of each sync of changes.",
     kDaemon, Buckets::sync},
    {"kubeproxy_sync_proxy_rules_duration_seconds", kHistogram, "ip_family",
     "[ALPHA] SyncProxyRules latency in seconds",
     "Duration of each attempt to bring the kernel up to date, whatever its result. Begins when all objects have "
     "been listed.",
     kDaemon, Buckets::sync},
    {"kubeproxy_sync_proxy_rules_endpoint_changes_pending", kGauge, "",
     "[ALPHA] Pending proxy rules Endpoint changes",
     "Changes of EndpointSlices that no sync has processed yet. Excludes changes that do not affect packets."},
    {"kubeproxy_sync_proxy_rules_endpoint_changes_total", kCounter, "",
     "[ALPHA] Cumulative proxy rules Endpoint changes",
     "Events about EndpointSlices."},
    {"kubeproxy_sync_proxy_rules_iptables_last", kGauge, "table, ip_family",
     "[ALPHA] Number of iptables rules written by kube-proxy in last sync",
     "Lines that the last sync wrote. The daemon writes only differences: often 0, and much less than kube-proxy "
     "writes.",
     kBackend},
    {"kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total", kCounter, "ip_family",
     "[ALPHA] Cumulative proxy iptables partial restore failures",
     "Failures of iptables-restore in syncs of changes.",
     kBackend},
    {"kubeproxy_sync_proxy_rules_iptables_restore_failures_total", kCounter, "ip_family",
     "[ALPHA] Cumulative proxy iptables restore failures",
     "Syncs in which iptables-restore failed or rejected a line.",
     kBackend},
    {"kubeproxy_sync_proxy_rules_iptables_total", kGauge, "table, ip_family",
     "[ALPHA] Total number of iptables rules owned by kube-proxy",
     "iptables rules that the backend owns.",
     kBackend},
    {"kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds", kGauge, "ip_family",
     "[ALPHA] The last time a sync of proxy rules was queued",
     "Unix time of the last request for a sync, or of the start of the sync loop."},
    {"kubeproxy_sync_proxy_rules_last_timestamp_seconds", kGauge, "ip_family",
     "[ALPHA] The last time proxy rules were successfully synced",
     "Unix time of the last successful sync."},
    {"kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total", kCounter, "ip_family",
     "[ALPHA] Cumulative proxy nftables cleanup failures",
     "Deletions of old chains that nftables rejected.",
     kBackend},
    {"kubeproxy_sync_proxy_rules_nftables_sync_failures_total", kCounter, "ip_family",
     "[ALPHA] Cumulative proxy nftables sync failures",
     "Transactions that nftables rejected.",
     kBackend},
    {"kubeproxy_sync_proxy_rules_no_local_endpoints_total", kGauge, "traffic_policy, ip_family",
     "[ALPHA] Number of services with a Local traffic policy and no endpoints",
     "Service ports with a Local policy whose endpoints are all on other nodes; in ipvs mode Services, as in "
     "kube-proxy.",
     kBackend},
    {"kubeproxy_sync_proxy_rules_service_changes_pending", kGauge, "",
     "[ALPHA] Pending proxy rules Service changes",
     "Services with a change that no sync has processed yet."},
    {"kubeproxy_sync_proxy_rules_service_changes_total", kCounter, "",
     "[ALPHA] Cumulative proxy rules Service changes",
     "Events about Services, once for each address family in use."},
    {"kubernetes_build_info", kGauge,
     "major, minor, git_version, git_commit, git_tree_state, build_date, go_version, compiler, platform",
     "[ALPHA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, "
     "build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
     "The version of kube-proxy that the daemon emulates, then its own."},
    {"kubernetes_feature_enabled", kGauge, "name, stage",
     "[BETA] This metric records the data about the stage and enablement of a k8s feature.",
     "1 for an enabled feature gate."},
    {"process_cpu_seconds_total", kCounter, "",
     "Total user and system CPU time spent in seconds.",
     "Excludes the programs that the daemon runs."},
    {"process_max_fds", kGauge, "",
     "Maximum number of open file descriptors."},
    {"process_network_receive_bytes_total", kCounter, "",
     "Number of bytes received by the process over the network.",
     "IPv4 bytes that all processes of the daemon's network namespace received, as kube-proxy reports them: on a "
     "node, those of the node."},
    {"process_network_transmit_bytes_total", kCounter, "",
     "Number of bytes sent by the process over the network.",
     "IPv4 bytes that all processes of the daemon's network namespace sent."},
    {"process_open_fds", kGauge, "",
     "Number of open file descriptors."},
    {"process_resident_memory_bytes", kGauge, "",
     "Resident memory size in bytes."},
    {"process_start_time_seconds", kGauge, "",
     "Start time of the process since unix epoch in seconds."},
    {"process_virtual_memory_bytes", kGauge, "",
     "Virtual memory size in bytes."},
    {"process_virtual_memory_max_bytes", kGauge, "",
     "Maximum amount of virtual memory available in bytes."},
    {"registered_metrics_total", kCounter, "stability_level, deprecated_version",
     "[BETA] The count of registered metrics broken by stability level and deprecation version.",
     "Metrics with a stability level: those of the daemon, and those that backends have reported."},
    {"rest_client_exec_plugin_call_total", kCounter, "code, call_status",
     "[ALPHA] Number of calls to an exec plugin, partitioned by the type of event encountered (no_error, "
     "plugin_execution_error, plugin_not_found_error, client_internal_error) and an optional exit code. The exit "
     "code will be set to 0 if and only if the plugin call was successful.",
     "Calls of a credential program by exit status; -1: ended by a signal."},
    {"rest_client_exec_plugin_certificate_rotation_age", kHistogram, "",
     "[ALPHA] Histogram of the number of seconds the last auth exec plugin client certificate lived before being "
     "rotated. If auth exec plugin client certificates are unused, histogram will contain no data.",
     "Seconds from the start of a certificate's validity to its replacement by the credential program.",
     kDaemon, Buckets::certificate_age},
    {"rest_client_exec_plugin_ttl_seconds", kGauge, "",
     "[ALPHA] Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed by the auth exec "
     "plugin. The value is in seconds until certificate expiry (negative if already expired). If auth exec plugins "
     "are unused or manage no TLS certificates, the value will be +INF.",
     "Time until the client certificate of a credential program expires; +Inf without one."},
    {"rest_client_rate_limiter_duration_seconds", kHistogram, "verb, host",
     "[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and host.",
     "Delays of requests by the rate limit of the daemon (kube-api-qps, kube-api-burst).",
     kDaemon, Buckets::request},
    {"rest_client_request_duration_seconds", kHistogram, "verb, host",
     "[ALPHA] Request latency in seconds. Broken down by verb, and host.",
     "Until the body is complete, or until a watch begins.",
     kDaemon, Buckets::request},
    {"rest_client_request_retries_total", kCounter, "code, verb, host",
     "[ALPHA] Number of request retries, partitioned by status code, verb, and host.",
     "Requests sent again: after 429 or 5xx with Retry-After, or with renewed credentials. code is that of the new "
     "response."},
    {"rest_client_request_size_bytes", kHistogram, "verb, host",
     "[ALPHA] Request size in bytes. Broken down by verb and host.",
     "Body of each request, except watches.",
     kDaemon, Buckets::size},
    {"rest_client_requests_total", kCounter, "code, method, host",
     "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
     "Requests to the API server; code is `<error>` if there was no response."},
    {"rest_client_response_size_bytes", kHistogram, "verb, host",
     "[ALPHA] Response size in bytes. Broken down by verb and host.",
     "Decompressed body of each response, except those of watches.",
     kDaemon, Buckets::size},
    {"rest_client_transport_ca_reload_total", kCounter, "result, reason",
     "[ALPHA] Number of times a CA reload is attempted, partitioned by the result and reason for the reload attempt",
     "Reads of a CA file after the first: success (unchanged, updated) or failure (read_error, empty, "
     "ca_parse_error)."},
    {"rest_client_transport_cache_entries", kGauge, "",
     "[ALPHA] Number of transport entries in the internal cache.",
     "Connection pools kept for the next list or event."},
    {"rest_client_transport_create_calls_total", kCounter, "result",
     "[ALPHA] Number of calls to get a new transport, partitioned by the result of the operation hit: obtained from "
     "the cache, miss: created and added to the cache, miss-gc: recreated and added back to the cache after being "
     "garbage collected, uncacheable: created and not cached",
     "hit: a request used a kept pool; miss: the daemon created a pool and kept it; uncacheable: the daemon created "
     "a pool for a watch."},
    {"sluice_backend_overdue", kGauge, "ip_family",
     "Whether a backend call has exceeded its time limit (1) or not (0)."},
    {"sluice_backend_unwell", kGauge, "ip_family",
     "Whether the backend reports that it cannot work (1) or not (0)."},
    {"sluice_build_info", kGauge, "version, compiler",
     "Version and compiler of this build of the daemon; always 1."},
    {"sluice_cluster_events_total", kCounter, "result",
     "Number of Kubernetes events by result: written, failed permanently, or dropped because the queue was full."},
    {"sluice_config_last_reload_success_timestamp_seconds", kGauge, "",
     "Unix time of the last start or reload after which the running configuration matched the files, in seconds."},
    {"sluice_config_last_reload_successful", kGauge, "",
     "Whether the last configuration reload succeeded (1) or failed and kept the running configuration (0).",
     "The start counts as a reload. 1 also after a reload that found no difference. Alert on 0."},
    {"sluice_endpoint_slices", kGauge, "",
     "Number of EndpointSlices in the store."},
    {"sluice_endpoints", kGauge, "",
     "Number of endpoints in all EndpointSlices in the store."},
    {"sluice_events_total", kCounter, "",
     "Number of objects received from the source, by change or by list."},
    {"sluice_first_sync_completed", kGauge, "ip_family",
     "Whether the backend has programmed this node since the start (1) or not (0)."},
    {"sluice_iptables_lock_timeouts_total", kCounter, "ip_family",
     "Number of syncs aborted because another process held the xtables lock.",
     "Legacy iptables only.",
     kBackend},
    {"sluice_iptables_lock_wait_seconds_total", kCounter, "ip_family",
     "Time spent waiting for the xtables lock, in seconds.",
     "Legacy iptables only.",
     kBackend},
    {"sluice_ipvs_addresses", kGauge, "ip_family",
     "Number of addresses bound on kube-ipvs0.", "",
     kBackend},
    {"sluice_ipvs_draining_real_servers", kGauge, "ip_family",
     "Number of IPVS real servers that receive no new connections and wait for their last connection to end.", "",
     kBackend},
    {"sluice_ipvs_messages_total", kCounter, "ip_family, part",
     "Number of netlink messages that change state of IPVS, ipsets or links, by part.",
     "part: servers (IPVS), sets (ipset) or links.",
     kBackend},
    {"sluice_ipvs_real_servers", kGauge, "ip_family",
     "Number of IPVS real servers of Services.",
     "Includes draining ones.",
     kBackend},
    {"sluice_ipvs_set_entries", kGauge, "ip_family",
     "Number of entries in all ipsets of the backend.", "",
     kBackend},
    {"sluice_ipvs_virtual_servers", kGauge, "ip_family",
     "Number of IPVS virtual servers of Services.", "",
     kBackend},
    {"sluice_kernel_objects", kGauge, "ip_family",
     "Number of kernel objects that the backend owns; each mode counts its own kinds.",
     "Rules and chains; in nftables mode elements and shared chains; in ipvs mode also virtual servers, real "
     "servers, set entries and addresses."},
    {"sluice_kernel_writes_total", kCounter, "ip_family",
     "Number of kernel objects that syncs have written; each mode counts its own kinds.",
     "Lines of rules; in nftables mode elements, rules, chains and sets; in ipvs mode also netlink messages, except "
     "those of verifications (see sluice_ipvs_messages_total)."},
    {"sluice_lists_total", kCounter, "kind",
     "Number of completed lists by kind of object.",
     "Includes streamed lists."},
    {"sluice_log_lines_total", kCounter, "severity",
     "Number of log lines by severity: error, warning, info or debug."},
    {"sluice_nftables_chains", kGauge, "ip_family",
     "Number of nftables chains shared by Services.",
     "One for each service class and number of endpoints.",
     kBackend},
    {"sluice_nftables_elements", kGauge, "ip_family",
     "Number of nftables set and map elements, excluding session affinity entries.", "",
     kBackend},
    {"sluice_nftables_listings_total", kCounter, "ip_family",
     "Number of times the whole nftables table was read.",
     "At start, after drift, and for sluicectl services.",
     kBackend},
    {"sluice_nftables_saved_listings_total", kCounter, "ip_family",
     "Number of starts at which the nftables table was not read, as nf_tables had not changed since the last process.",
     "The table is read later, to check this.",
     kBackend},
    {"sluice_nftables_sent_bytes_total", kCounter, "ip_family",
     "Number of bytes sent to the kernel in nftables transactions.", "",
     kBackend},
    {"sluice_nftables_service_bytes_total", kCounter, "ip_family, service",
     "Number of bytes of connections to a Service that this node forwarded or sent.",
     "With counters: true. Both directions; includes connections that the node itself opens.",
     kBackend, Buckets::none, true},
    {"sluice_nftables_service_packets_total", kCounter, "ip_family, service",
     "Number of packets of connections to a Service that this node forwarded or sent.",
     "With counters: true. Both directions; includes connections that the node itself opens.",
     kBackend, Buckets::none, true},
    {"sluice_nftables_transactions_total", kCounter, "ip_family, result",
     "Number of nftables transactions by result.",
     "result: carried_out or refused.",
     kBackend},
    {"sluice_no_op_events_total", kCounter, "",
     "Number of objects received from the source that did not change any rule."},
    {"sluice_oldest_pending_change_age_seconds", kGauge, "ip_family",
     "Age of the oldest change that is not in the kernel yet, or time since the start before the first sync, in "
     "seconds; 0 when no change is pending.",
     "Alert on it."},
    {"sluice_plugin_info", kGauge, "id, version, abi",
     "Id, version and ABI revision of the active backend's plugin; always 1."},
    {"sluice_plugin_metrics_dropped_total", kCounter, "plugin",
     "Number of values reported by a plugin that were dropped: invalid name, label or type, or too many series.",
     "The log names each reason once."},
    {"sluice_relists_total", kCounter, "kind",
     "Number of completed lists after the first, by kind of object."},
    {"sluice_reloads_total", kCounter, "result",
     "Number of configuration reloads by result: success, unchanged or failed."},
    {"sluice_retiring_overdue_seconds", kGauge, "backend",
     "Seconds since the drain timeout of a retiring backend expired, or 0 while it drains.",
     "Present while a backend retires."},
    {"sluice_service_ports", kGauge, "ip_family",
     "Number of service ports delivered to the backend."},
    {"sluice_service_ports_not_programmed", kGauge, "ip_family",
     "Number of service ports that the backend has not programmed.",
     "sluicectl status names them."},
    {"sluice_services", kGauge, "",
     "Number of Services in the store, including those without service ports."},
    {"sluice_source_connected", kGauge, "kind",
     "Whether the daemon receives changes (1) or not (0), by kind of object."},
    {"sluice_source_errors_total", kCounter, "kind",
     "Number of failed lists and watches, or of errors in manifest files, by kind of object."},
    {"sluice_start_phase_seconds", kGauge, "phase",
     "Duration of each phase of the start until the first sync of every IP family, in seconds. Absent before that sync.",
     "phase: configuration, preparation, backend_load, backend_probe, connection (until the first answer of the API "
     "server), list_services, list_endpoint_slices, list_nodes, list_service_cidrs (each from that answer on), store, "
     "first_apply. The backend is loaded and probed during connection and lists."},
    {"sluice_start_seconds", kGauge, "",
     "Time from the start of the daemon until the first sync of every IP family, in seconds. Absent before that sync.",
     "The sum of configuration, preparation, store, first_apply, and the longer of backend_load + backend_probe and "
     "connection + the longest list."},
    {"sluice_store_queue_length", kGauge, "",
     "Number of events and requests in the queue of the store thread.",
     "The source waits at 4,096."},
    {"sluice_swap_longest_wait_seconds", kGauge, "",
     "Maximum age of a pending change during the last backend swap, in seconds."},
    {"sluice_swap_seconds", kHistogram, "",
     "Duration of a backend swap until the new backend was active and the old backend began to retire, in seconds.", "",
     kDaemon, Buckets::sync},
    {"sluice_swaps_total", kCounter, "from, to, result",
     "Number of backend swaps by old backend, new backend and result: success or failed."},
    {"sluice_sync_apply_duration_seconds", kHistogram, "ip_family",
     "Part of the sync duration spent in the backend, in seconds.",
     "Includes the time of sluice_sync_kernel_duration_seconds.",
     kDaemon, Buckets::sync},
    {"sluice_sync_failures_total", kCounter, "ip_family",
     "Number of failed syncs.",
     "A full sync follows each failed one."},
    {"sluice_sync_interval_seconds", kGauge, "ip_family",
     "Minimum time from the end of the last sync to the start of the next one, in seconds.",
     "minSyncPeriod, or what follows from the cost of syncs; see configure.md."},
    {"sluice_sync_kernel_duration_seconds", kHistogram, "ip_family",
     "Part of the sync duration that the backend waited for the kernel or its tools, in seconds.",
     "Includes waiting for the locks of these tools. Counts only syncs whose backend reports the time.",
     kDaemon, Buckets::sync},
    {"sluice_sync_repairs_total", kCounter, "ip_family",
     "Number of times that drift of the kernel state was found and repaired."},
    {"sluice_sync_select_duration_seconds", kHistogram, "ip_family",
     "Part of the sync duration spent building the transaction, including the wait for the store thread, in seconds.",
     "Selection of endpoints. select and apply make up a sync.",
     kDaemon, Buckets::sync},
    {"sluice_sync_wait_duration_seconds", kHistogram, "ip_family",
     "Time from the first change of a sync until the sync began, in seconds.",
     "The delay that batching adds, and the rest of the previous sync.",
     kDaemon, Buckets::sync},
    {"sluice_unusable_objects_total", kCounter, "",
     "Number of objects received from the source that could not be decoded; their last valid version is kept."},
    {"sluice_userspace_affinity_clients", kGauge, "ip_family",
     "Number of clients with session affinity in userspace mode.", "",
     kBackend},
    {"sluice_userspace_bytes_total", kCounter, "protocol, towards",
     "Number of bytes relayed by protocol and direction.",
     "protocol: tcp or udp; towards: endpoint or client.",
     kBackend},
    {"sluice_userspace_claim_conflicts", kGauge, "ip_family",
     "Number of node ports of Services that another Service or process has bound.", "",
     kBackend},
    {"sluice_userspace_claims", kGauge, "ip_family",
     "Number of node ports held for Services.", "",
     kBackend},
    {"sluice_userspace_client_addresses_hidden", kGauge, "ip_family, missing",
     "Whether endpoints of userspace mode see the node instead of clients (1), as of its last start, by what is missing.",
     "missing: CAP_NET_ADMIN, CAP_NET_RAW, or the module nf_conntrack_netlink.",
     kBackend},
    {"sluice_userspace_client_addresses_total", kCounter, "result",
     "Number of dials and UDP clients of the userspace proxy, by the source address that the endpoint sees.",
     "result: kept (the client's address), masqueraded (the node's, as in iptables mode), or failed (the node's, "
     "because the client's could not be used).",
     kBackend},
    {"sluice_userspace_connections", kGauge, "",
     "Number of open TCP connections of clients of the userspace proxy.", "",
     kBackend},
    {"sluice_userspace_connections_accepted_total", kCounter, "",
     "Number of TCP connections that the userspace proxy accepted.", "",
     kBackend},
    {"sluice_userspace_connections_broken_total", kCounter, "reason",
     "Number of relayed TCP connections that were reset, by reason.",
     "reason: reset by one end, idle for too long, or drained because the endpoint or Service was removed.",
     kBackend},
    {"sluice_userspace_connections_failed_total", kCounter, "reason",
     "Number of accepted TCP connections closed without having reached an endpoint, by reason.",
     "reason: no_endpoint, or no_answer from every endpoint that was tried.",
     kBackend},
    {"sluice_userspace_connections_lost_total", kCounter, "ip_family, protocol",
     "Number of relayed TCP connections and UDP flows that ended with their process or at the drain timeout.", "",
     kBackend},
    {"sluice_userspace_dials_failed_total", kCounter, "",
     "Number of failed attempts of the userspace proxy to connect to an endpoint.",
     "The proxy then tries the next endpoint.",
     kBackend},
    {"sluice_userspace_dials_total", kCounter, "",
     "Number of attempts of the userspace proxy to connect to an endpoint.", "",
     kBackend},
    {"sluice_userspace_draining", kGauge, "ip_family, protocol",
     "Number of TCP connections and UDP clients that retiring backends still relay.",
     "Present only after a swap.",
     kBackend},
    {"sluice_userspace_endpoints_passed_over", kGauge, "ip_family",
     "Number of endpoints that temporarily receive no new connections because they did not answer.",
     "The cause is consecutive failed dials; see outlierFailures.",
     kBackend},
    {"sluice_userspace_paused_threads", kGauge, "",
     "Number of relay threads that currently accept no connections.",
     "Alert on it.",
     kBackend},
    {"sluice_userspace_pauses_total", kCounter, "reason",
     "Number of times that a relay thread paused accepting connections, by reason.",
     "reason: out of file descriptors, memory or ports, or at the limit of maxConnections.",
     kBackend},
    {"sluice_userspace_pipes", kGauge, "",
     "Number of pipes in use or reserved for busy connections.", "",
     kBackend},
    {"sluice_userspace_portals", kGauge, "ip_family",
     "Number of service ports that the userspace proxy relays.", "",
     kBackend},
    {"sluice_userspace_udp_clients", kGauge, "",
     "Number of clients of UDP Services in userspace mode.",
     "Each client has a socket of its own.",
     kBackend},
    {"sluice_userspace_udp_clients_ended_total", kCounter, "reason",
     "Number of clients of UDP Services that expired or were evicted, by reason.",
     "reason: expired after udpTimeout, or evicted at maxUDPClients.",
     kBackend},
    {"sluice_userspace_udp_clients_opened_total", kCounter, "",
     "Number of new clients of UDP Services in userspace mode.", "",
     kBackend},
    {"sluice_userspace_udp_datagrams_total", kCounter, "towards",
     "Number of relayed UDP datagrams by direction.",
     "towards: endpoint or client.",
     kBackend},
    {"sluice_userspace_udp_dropped_total", kCounter, "reason",
     "Number of dropped UDP datagrams by reason.",
     "reason: no_endpoint, or full: a full buffer, or no descriptor left for a new client.",
     kBackend},
    {"sluice_userspace_udp_errors_total", kCounter, "",
     "Number of socket errors of endpoints of UDP Services.",
     "ICMP errors, for example. The client gets another endpoint with its next datagram.",
     kBackend},
    {"sluice_watch_restarts_total", kCounter, "kind",
     "Number of watches started after the first, by kind of object.",
     "The API server ends each watch after a few minutes."},
});
// clang-format on
static_assert(std::is_sorted(kDefinitions.begin(), kDefinitions.end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));

// BEH 10.4: E15.
std::vector<double> sync_bounds() {
  std::vector<double> out;
  for (double bound = 0.001; out.size() < 15; bound *= 2) out.push_back(bound);
  return out;
}

std::vector<double> programming_bounds() {
  std::vector<double> out{0.25, 0.5};
  for (int bound = 1; bound < 60; ++bound) out.push_back(bound);
  for (int bound = 60; bound < 120; bound += 5) out.push_back(bound);
  for (int bound = 120; bound <= 300; bound += 30) out.push_back(bound);
  return out;
}

}  // namespace

std::span<const MetricDefinition> metric_catalogue() { return kDefinitions; }

std::string_view stability_level(const MetricDefinition& definition) {
  const std::string_view help = definition.help;
  const auto end = help.find("] ");
  return help.starts_with('[') && end != std::string_view::npos ? help.substr(1, end - 1) : std::string_view();
}

const MetricDefinition* find_metric(std::string_view name) {
  const auto found = std::lower_bound(kDefinitions.begin(), kDefinitions.end(), name,
                                      [](const MetricDefinition& one, std::string_view n) { return one.name < n; });
  return found != kDefinitions.end() && found->name == name ? &*found : nullptr;
}

const std::vector<double>& bucket_bounds(Buckets buckets) {
  static const std::vector<double> none;
  static const std::vector<double> sync = sync_bounds();
  static const std::vector<double> programming = programming_bounds();
  static const std::vector<double> request{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
  static const std::vector<double> size{64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216};
  // From ten minutes to four years.
  static const std::vector<double> certificate_age{600,     1800,    3600,     14400,    86400,    604800,
                                                   2592000, 7776000, 15552000, 31104000, 124416000};
  switch (buckets) {
    case Buckets::none:
      break;
    case Buckets::size:
      return size;
    case Buckets::certificate_age:
      return certificate_age;
    case Buckets::sync:
      return sync;
    case Buckets::programming:
      return programming;
    case Buckets::request:
      return request;
  }
  return none;
}

}  // namespace sluice::observe
