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
     Buckets::sync},
    {"kubeproxy_network_programming_duration_seconds", kHistogram, "ip_family",
     "[ALPHA] In Cluster Network Programming Latency in seconds",
     "Time from the trigger time of an EndpointSlice until the kernel has the change. Excludes trigger times before "
     "the start of the daemon.",
     Buckets::programming},
    {"kubeproxy_proxy_healthz_total", kCounter, "code",
     "[ALPHA] Cumulative proxy healthz HTTP status",
     "Responses of /healthz on the health address."},
    {"kubeproxy_proxy_livez_total", kCounter, "code",
     "[ALPHA] Cumulative proxy livez HTTP status",
     "Responses of /livez."},
    {"kubeproxy_sync_full_proxy_rules_duration_seconds", kHistogram, "ip_family",
     "[ALPHA] SyncProxyRules latency in seconds for full resyncs",
     "Duration of each full sync.",
     Buckets::sync},
    {"kubeproxy_sync_partial_proxy_rules_duration_seconds", kHistogram, "ip_family",
     "[ALPHA] SyncProxyRules latency in seconds for partial resyncs",
     "Duration of each sync of changes.",
     Buckets::sync},
    {"kubeproxy_sync_proxy_rules_duration_seconds", kHistogram, "ip_family",
     "[ALPHA] SyncProxyRules latency in seconds",
     "Duration of each attempt to bring the kernel up to date, whatever its result. Begins when all objects have "
     "been listed.",
     Buckets::sync},
    {"kubeproxy_sync_proxy_rules_endpoint_changes_pending", kGauge, "",
     "[ALPHA] Pending proxy rules Endpoint changes",
     "Changes of EndpointSlices that no sync has processed yet. Excludes changes that do not affect packets."},
    {"kubeproxy_sync_proxy_rules_endpoint_changes_total", kCounter, "",
     "[ALPHA] Cumulative proxy rules Endpoint changes",
     "Events about EndpointSlices."},
    {"kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds", kGauge, "ip_family",
     "[ALPHA] The last time a sync of proxy rules was queued",
     "Unix time of the last request for a sync, or of the start of the sync loop."},
    {"kubeproxy_sync_proxy_rules_last_timestamp_seconds", kGauge, "ip_family",
     "[ALPHA] The last time proxy rules were successfully synced",
     "Unix time of the last successful sync."},
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
     Buckets::certificate_age},
    {"rest_client_exec_plugin_ttl_seconds", kGauge, "",
     "[ALPHA] Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed by the auth exec "
     "plugin. The value is in seconds until certificate expiry (negative if already expired). If auth exec plugins "
     "are unused or manage no TLS certificates, the value will be +INF.",
     "Time until the client certificate of a credential program expires; +Inf without one."},
    {"rest_client_rate_limiter_duration_seconds", kHistogram, "verb, host",
     "[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and host.",
     "Delays of requests by the rate limit of the daemon (kube-api-qps, kube-api-burst).",
     Buckets::request},
    {"rest_client_request_duration_seconds", kHistogram, "verb, host",
     "[ALPHA] Request latency in seconds. Broken down by verb, and host.",
     "Until the body is complete, or until a watch begins.",
     Buckets::request},
    {"rest_client_request_retries_total", kCounter, "code, verb, host",
     "[ALPHA] Number of request retries, partitioned by status code, verb, and host.",
     "Requests sent again: after 429 or 5xx with Retry-After, or with renewed credentials. code is that of the new "
     "response."},
    {"rest_client_request_size_bytes", kHistogram, "verb, host",
     "[ALPHA] Request size in bytes. Broken down by verb and host.",
     "Body of each request, except watches.",
     Buckets::size},
    {"rest_client_requests_total", kCounter, "code, method, host",
     "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
     "Requests to the API server; code is `<error>` if there was no response."},
    {"rest_client_response_size_bytes", kHistogram, "verb, host",
     "[ALPHA] Response size in bytes. Broken down by verb and host.",
     "Decompressed body of each response, except those of watches.",
     Buckets::size},
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
    {"sluice_kernel_objects", kGauge, "ip_family",
     "Number of kernel objects that the backend owns; each mode counts its own kinds.",
     "Rules and chains; in nftables mode elements and shared chains; in ipvs mode also virtual servers, real "
     "servers, set entries and addresses."},
    {"sluice_kernel_writes_total", kCounter, "ip_family",
     "Number of kernel objects that syncs have written; each mode counts its own kinds.",
     "Lines of rules; in nftables mode elements, rules, chains and sets; in ipvs mode also netlink messages, except "
     "those of verifications."},
    {"sluice_lists_total", kCounter, "kind",
     "Number of completed lists by kind of object.",
     "Includes streamed lists."},
    {"sluice_log_lines_total", kCounter, "severity",
     "Number of log lines by severity: error, warning, info or debug."},
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
     Buckets::sync},
    {"sluice_swaps_total", kCounter, "from, to, result",
     "Number of backend swaps by old backend, new backend and result: success or failed."},
    {"sluice_sync_apply_duration_seconds", kHistogram, "ip_family",
     "Part of the sync duration spent in the backend, in seconds.",
     "Includes the time of sluice_sync_kernel_duration_seconds.",
     Buckets::sync},
    {"sluice_sync_failures_total", kCounter, "ip_family",
     "Number of failed syncs.",
     "A full sync follows each failed one."},
    {"sluice_sync_interval_seconds", kGauge, "ip_family",
     "Minimum time from the end of the last sync to the start of the next one, in seconds.",
     "minSyncPeriod, or what follows from the cost of syncs; see configure.md."},
    {"sluice_sync_kernel_duration_seconds", kHistogram, "ip_family",
     "Part of the sync duration that the backend waited for the kernel or its tools, in seconds.",
     "Includes waiting for the locks of these tools. Counts only syncs whose backend reports the time.",
     Buckets::sync},
    {"sluice_sync_repairs_total", kCounter, "ip_family",
     "Number of times that drift of the kernel state was found and repaired."},
    {"sluice_sync_select_duration_seconds", kHistogram, "ip_family",
     "Part of the sync duration spent building the transaction, including the wait for the store thread, in seconds.",
     "Selection of endpoints. select and apply make up a sync.",
     Buckets::sync},
    {"sluice_sync_wait_duration_seconds", kHistogram, "ip_family",
     "Time from the first change of a sync until the sync began, in seconds.",
     "The delay that batching adds, and the rest of the previous sync.",
     Buckets::sync},
    {"sluice_unusable_objects_total", kCounter, "",
     "Number of objects received from the source that could not be decoded; their last valid version is kept."},
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

std::string_view stability_level(std::string_view help) {
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
