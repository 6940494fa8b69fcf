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
constexpr auto kDefinitions = std::to_array<MetricDefinition>({
    {"cardinality_enforcement_unexpected_categorizations_total", kCounter,
     "[ALPHA] The count of unexpected categorizations during cardinality enforcement."},
    {"disabled_metrics_total", kCounter, "[BETA] The count of disabled metrics."},
    {"hidden_metrics_total", kCounter, "[BETA] The count of hidden metrics."},
    {"kubeproxy_conntrack_reconciler_deleted_entries_total", kCounter,
     "[ALPHA] Cumulative conntrack flows deleted by conntrack reconciler"},
    {"kubeproxy_conntrack_reconciler_sync_duration_seconds", kHistogram,
     "[ALPHA] ReconcileConntrackFlowsLatency latency in seconds", kDaemon, Buckets::sync},
    {"kubeproxy_iptables_ct_state_invalid_dropped_packets_total", kCounter,
     "[ALPHA] packets dropped by iptables to work around conntrack problems", kBackend},
    {"kubeproxy_iptables_localhost_nodeports_accepted_packets_total", kCounter,
     "[ALPHA] Number of packets accepted on nodeports of loopback interface", kBackend},
    {"kubeproxy_network_programming_duration_seconds", kHistogram,
     "[ALPHA] In Cluster Network Programming Latency in seconds", kDaemon, Buckets::programming},
    {"kubeproxy_proxy_healthz_total", kCounter, "[ALPHA] Cumulative proxy healthz HTTP status"},
    {"kubeproxy_proxy_livez_total", kCounter, "[ALPHA] Cumulative proxy livez HTTP status"},
    {"kubeproxy_sync_full_proxy_rules_duration_seconds", kHistogram,
     "[ALPHA] SyncProxyRules latency in seconds for full resyncs", kDaemon, Buckets::sync},
    {"kubeproxy_sync_partial_proxy_rules_duration_seconds", kHistogram,
     "[ALPHA] SyncProxyRules latency in seconds for partial resyncs", kDaemon, Buckets::sync},
    {"kubeproxy_sync_proxy_rules_duration_seconds", kHistogram, "[ALPHA] SyncProxyRules latency in seconds", kDaemon,
     Buckets::sync},
    {"kubeproxy_sync_proxy_rules_endpoint_changes_pending", kGauge, "[ALPHA] Pending proxy rules Endpoint changes"},
    {"kubeproxy_sync_proxy_rules_endpoint_changes_total", kCounter, "[ALPHA] Cumulative proxy rules Endpoint changes"},
    {"kubeproxy_sync_proxy_rules_iptables_last", kGauge,
     "[ALPHA] Number of iptables rules written by kube-proxy in last sync", kBackend},
    {"kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total", kCounter,
     "[ALPHA] Cumulative proxy iptables partial restore failures", kBackend},
    {"kubeproxy_sync_proxy_rules_iptables_restore_failures_total", kCounter,
     "[ALPHA] Cumulative proxy iptables restore failures", kBackend},
    {"kubeproxy_sync_proxy_rules_iptables_total", kGauge, "[ALPHA] Total number of iptables rules owned by kube-proxy",
     kBackend},
    {"kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds", kGauge,
     "[ALPHA] The last time a sync of proxy rules was queued"},
    {"kubeproxy_sync_proxy_rules_last_timestamp_seconds", kGauge,
     "[ALPHA] The last time proxy rules were successfully synced"},
    {"kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total", kCounter,
     "[ALPHA] Cumulative proxy nftables cleanup failures", kBackend},
    {"kubeproxy_sync_proxy_rules_nftables_sync_failures_total", kCounter,
     "[ALPHA] Cumulative proxy nftables sync failures", kBackend},
    {"kubeproxy_sync_proxy_rules_no_local_endpoints_total", kGauge,
     "[ALPHA] Number of services with a Local traffic policy and no endpoints", kBackend},
    {"kubeproxy_sync_proxy_rules_service_changes_pending", kGauge, "[ALPHA] Pending proxy rules Service changes"},
    {"kubeproxy_sync_proxy_rules_service_changes_total", kCounter, "[ALPHA] Cumulative proxy rules Service changes"},
    {"kubernetes_build_info", kGauge,
     "[ALPHA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, "
     "build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running."},
    {"kubernetes_feature_enabled", kGauge,
     "[BETA] This metric records the data about the stage and enablement of a k8s feature."},
    {"process_cpu_seconds_total", kCounter, "Total user and system CPU time spent in seconds."},
    {"process_max_fds", kGauge, "Maximum number of open file descriptors."},
    {"process_network_receive_bytes_total", kCounter, "Number of bytes received by the process over the network."},
    {"process_network_transmit_bytes_total", kCounter, "Number of bytes sent by the process over the network."},
    {"process_open_fds", kGauge, "Number of open file descriptors."},
    {"process_resident_memory_bytes", kGauge, "Resident memory size in bytes."},
    {"process_start_time_seconds", kGauge, "Start time of the process since unix epoch in seconds."},
    {"process_virtual_memory_bytes", kGauge, "Virtual memory size in bytes."},
    {"process_virtual_memory_max_bytes", kGauge, "Maximum amount of virtual memory available in bytes."},
    {"registered_metrics_total", kCounter,
     "[BETA] The count of registered metrics broken by stability level and deprecation version."},
    {"rest_client_exec_plugin_call_total", kCounter,
     "[ALPHA] Number of calls to an exec plugin, partitioned by the type of event encountered (no_error, "
     "plugin_execution_error, plugin_not_found_error, client_internal_error) and an optional exit code. The exit code "
     "will be set to 0 if and only if the plugin call was successful."},
    {"rest_client_exec_plugin_certificate_rotation_age", kHistogram,
     "[ALPHA] Histogram of the number of seconds the last auth exec plugin client certificate lived before being "
     "rotated. If auth exec plugin client certificates are unused, histogram will contain no data.",
     kDaemon, Buckets::certificate_age},
    {"rest_client_exec_plugin_ttl_seconds", kGauge,
     "[ALPHA] Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed by the auth exec plugin. "
     "The value is in seconds until certificate expiry (negative if already expired). If auth exec plugins are unused "
     "or manage no TLS certificates, the value will be +INF."},
    {"rest_client_rate_limiter_duration_seconds", kHistogram,
     "[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and host.", kDaemon, Buckets::request},
    {"rest_client_request_duration_seconds", kHistogram,
     "[ALPHA] Request latency in seconds. Broken down by verb, and host.", kDaemon, Buckets::request},
    {"rest_client_request_retries_total", kCounter,
     "[ALPHA] Number of request retries, partitioned by status code, verb, and host."},
    {"rest_client_request_size_bytes", kHistogram, "[ALPHA] Request size in bytes. Broken down by verb and host.",
     kDaemon, Buckets::size},
    {"rest_client_requests_total", kCounter,
     "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host."},
    {"rest_client_response_size_bytes", kHistogram, "[ALPHA] Response size in bytes. Broken down by verb and host.",
     kDaemon, Buckets::size},
    {"rest_client_transport_ca_reload_total", kCounter,
     "[ALPHA] Number of times a CA reload is attempted, partitioned by the result and reason for the reload attempt"},
    {"rest_client_transport_cache_entries", kGauge, "[ALPHA] Number of transport entries in the internal cache."},
    {"rest_client_transport_create_calls_total", kCounter,
     "[ALPHA] Number of calls to get a new transport, partitioned by the result of the operation hit: obtained from "
     "the "
     "cache, miss: created and added to the cache, miss-gc: recreated and added back to the cache after being garbage "
     "collected, uncacheable: created and not cached"},
    {"sluice_backend_overdue", kGauge, "Whether a backend call has exceeded its time limit (1) or not (0)."},
    {"sluice_backend_unwell", kGauge, "Whether the backend reports that it cannot work (1) or not (0)."},
    {"sluice_build_info", kGauge, "Version and compiler of this build of the daemon; always 1."},
    {"sluice_cluster_events_total", kCounter,
     "Number of Kubernetes events, by result: written, failed permanently, or dropped because the queue was full."},
    {"sluice_config_last_reload_success_timestamp_seconds", kGauge,
     "Unix time of the last start or reload after which the running configuration matched the files, in seconds."},
    {"sluice_config_last_reload_successful", kGauge,
     "Whether the last configuration reload succeeded (1) or failed and kept the running configuration (0)."},
    {"sluice_endpoint_slices", kGauge, "Number of EndpointSlices in the store."},
    {"sluice_endpoints", kGauge, "Number of endpoints in all EndpointSlices in the store."},
    {"sluice_events_total", kCounter,
     "Number of object events received from the source: added, changed, deleted, or listed again."},
    {"sluice_first_sync_completed", kGauge, "Whether the backend has completed a sync since the start (1) or not (0)."},
    {"sluice_iptables_lock_timeouts_total", kCounter,
     "Number of syncs aborted because another process held the "
     "xtables lock.",
     kBackend},
    {"sluice_iptables_lock_wait_seconds_total", kCounter, "Seconds spent waiting for the xtables lock.", kBackend},
    {"sluice_ipvs_addresses", kGauge, "Number of addresses bound on kube-ipvs0.", kBackend},
    {"sluice_ipvs_draining_real_servers", kGauge, "Number of IPVS real servers waiting for their last connection.",
     kBackend},
    {"sluice_ipvs_messages_total", kCounter, "Number of netlink messages that change IPVS state.", kBackend},
    {"sluice_ipvs_real_servers", kGauge, "Number of IPVS real servers.", kBackend},
    {"sluice_ipvs_set_entries", kGauge, "Number of ipset entries.", kBackend},
    {"sluice_ipvs_virtual_servers", kGauge, "Number of IPVS virtual servers.", kBackend},
    {"sluice_kernel_objects", kGauge, "Number of kernel objects owned by the backend; backends count differently."},
    {"sluice_kernel_writes_total", kCounter,
     "Number of kernel objects written by the backend; backends count differently."},
    {"sluice_lists_total", kCounter, "Number of completed lists, by kind of object."},
    {"sluice_log_lines_total", kCounter, "Number of log lines, by severity."},
    {"sluice_nftables_chains", kGauge, "Number of nftables chains shared by Services.", kBackend},
    {"sluice_nftables_elements", kGauge, "Number of nftables set and map elements, excluding session affinity entries.",
     kBackend},
    {"sluice_nftables_listings_total", kCounter, "Number of times the whole nftables table was read.", kBackend},
    {"sluice_nftables_sent_bytes_total", kCounter, "Bytes sent to the kernel in nftables transactions.", kBackend},
    {"sluice_nftables_service_bytes_total", kCounter, "Bytes of connections to a Service.", kBackend, Buckets::none,
     true},
    {"sluice_nftables_service_packets_total", kCounter, "Packets of connections to a Service.", kBackend, Buckets::none,
     true},
    {"sluice_nftables_transactions_total", kCounter, "Number of nftables transactions, committed or rejected.",
     kBackend},
    {"sluice_no_op_events_total", kCounter, "Number of object events that did not change any rule."},
    {"sluice_oldest_pending_change_age_seconds", kGauge,
     "Age of the oldest change that is not in the kernel yet, or time since the start before the first sync, in "
     "seconds; 0 when no change is pending."},
    {"sluice_plugin_info", kGauge, "A plugin in use, its version and its ABI revision; always 1."},
    {"sluice_plugin_metrics_dropped_total", kCounter,
     "Number of values reported by a plugin that were dropped: invalid name, label or type, or too many series."},
    {"sluice_relists_total", kCounter, "Number of lists after the first, by kind of object."},
    {"sluice_reloads_total", kCounter, "Number of configuration reloads, by result: success, unchanged or failed."},
    {"sluice_service_ports", kGauge, "Number of service ports delivered to the backend."},
    {"sluice_service_ports_not_programmed", kGauge, "Number of service ports that the backend could not program."},
    {"sluice_services", kGauge, "Number of Services in the store, including those without service ports."},
    {"sluice_source_connected", kGauge, "Whether changes are being received (1) or not (0), by kind of object."},
    {"sluice_source_errors_total", kCounter, "Number of failed lists and watches, or of errors in manifest files."},
    {"sluice_store_queue_length", kGauge, "Number of events and requests in the queue of the store thread."},
    {"sluice_swap_longest_wait_seconds", kGauge,
     "Maximum age of a pending change during the last backend swap, in seconds."},
    {"sluice_swap_seconds", kHistogram,
     "Duration of a backend swap until the new backend was active and the old backend began to retire, in seconds.",
     kDaemon, Buckets::sync},
    {"sluice_swaps_total", kCounter, "Number of backend swaps, by result."},
    {"sluice_sync_apply_duration_seconds", kHistogram, "Part of the sync duration spent in the backend, in seconds.",
     kDaemon, Buckets::sync},
    {"sluice_sync_failures_total", kCounter, "Number of failed syncs."},
    {"sluice_sync_kernel_duration_seconds", kHistogram,
     "Part of the sync duration that the backend waited for the kernel or its tools, in seconds.", kDaemon,
     Buckets::sync},
    {"sluice_sync_repairs_total", kCounter, "Number of drifts of kernel state detected and repaired."},
    {"sluice_sync_select_duration_seconds", kHistogram,
     "Part of the sync duration spent waiting for the store thread to build the transaction, in seconds.", kDaemon,
     Buckets::sync},
    {"sluice_unusable_objects_total", kCounter,
     "Number of received objects that could not be decoded; their last valid version is kept."},
    {"sluice_userspace_affinity_clients", kGauge, "Number of clients with session affinity.", kBackend},
    {"sluice_userspace_bytes_total", kCounter, "Bytes relayed.", kBackend},
    {"sluice_userspace_claim_conflicts", kGauge, "Number of node ports of Services that another process has bound.",
     kBackend},
    {"sluice_userspace_claims", kGauge, "Number of node ports held for Services.", kBackend},
    {"sluice_userspace_connections", kGauge, "Number of open TCP connections of clients.", kBackend},
    {"sluice_userspace_connections_accepted_total", kCounter, "Number of accepted TCP connections of clients.",
     kBackend},
    {"sluice_userspace_connections_broken_total", kCounter, "Number of relayed TCP connections that were reset.",
     kBackend},
    {"sluice_userspace_connections_failed_total", kCounter,
     "Number of TCP connections closed without having reached an endpoint.", kBackend},
    {"sluice_userspace_connections_lost_total", kCounter,
     "Number of relayed TCP connections and UDP flows that ended with their process or at the drain timeout.",
     kBackend},
    {"sluice_userspace_dials_failed_total", kCounter, "Number of failed attempts to connect to an endpoint.", kBackend},
    {"sluice_userspace_dials_total", kCounter, "Number of attempts to connect to an endpoint.", kBackend},
    {"sluice_userspace_draining", kGauge, "Number of connections and UDP clients relayed by retiring backends.",
     kBackend},
    {"sluice_userspace_endpoints_passed_over", kGauge,
     "Number of endpoints that get no new connections for a while because they did not answer.", kBackend},
    {"sluice_userspace_paused_threads", kGauge, "Number of threads that currently accept no connections.", kBackend},
    {"sluice_userspace_pauses_total", kCounter, "Number of times a thread stopped accepting connections for a while.",
     kBackend},
    {"sluice_userspace_pipes", kGauge, "Number of pipes in use or reserved for busy connections.", kBackend},
    {"sluice_userspace_portals", kGauge, "Number of relayed service ports.", kBackend},
    {"sluice_userspace_udp_clients", kGauge, "Number of clients of UDP Services.", kBackend},
    {"sluice_userspace_udp_clients_ended_total", kCounter, "Number of clients of UDP Services that expired.", kBackend},
    {"sluice_userspace_udp_clients_opened_total", kCounter, "Number of new clients of UDP Services.", kBackend},
    {"sluice_userspace_udp_datagrams_total", kCounter, "Number of relayed datagrams.", kBackend},
    {"sluice_userspace_udp_dropped_total", kCounter, "Number of dropped datagrams.", kBackend},
    {"sluice_userspace_udp_errors_total", kCounter, "Number of socket errors of endpoints of UDP Services.", kBackend},
    {"sluice_watch_restarts_total", kCounter, "Number of watches established after the first, by kind of object."},
});
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
