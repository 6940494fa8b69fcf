// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/metrics/scrape_data.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/log.hpp"
#include "core/config/feature_gates.hpp"
#include "core/observe/metrics/catalogue.hpp"
#include "core/observe/metrics/process_statistics.hpp"

namespace sluice::observe {
namespace {

using Labels = std::vector<prometheus::ClientMetric::Label>;

class Families {
 public:
  void add(std::string_view name, double value, Labels labels = {}) {
    if (out_.empty() || out_.back().name != name) begin(name);
    prometheus::ClientMetric metric;
    std::sort(labels.begin(), labels.end());
    metric.label = std::move(labels);
    (out_.back().type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    out_.back().metric.push_back(std::move(metric));
  }
  std::vector<prometheus::MetricFamily> take() { return std::move(out_); }

 private:
  void begin(std::string_view name) {
    const MetricDefinition* definition = find_metric(name);
    assert(definition != nullptr);
    prometheus::MetricFamily family;
    family.name = name;
    family.help = definition->help;
    family.type = definition->type;
    out_.push_back(std::move(family));
  }
  std::vector<prometheus::MetricFamily> out_;
};

double number(std::uint64_t value) { return static_cast<double>(value); }

// kube-proxy has a proxier for each family; all of them count in the same metric.
void add_changes(const ScrapeData& in, Families& out) {
  double services = 0, slices = 0, pending_services = 0, pending_slices = 0;
  for (const auto& family : in.families) {
    const auto i = lib::family_index(family.family);
    services += number(in.store.service_events);
    slices += number(in.store.slice_events[i]);
    pending_services = std::max(pending_services, number(in.store.pending_services[i]));
    pending_slices += number(in.store.pending_slice_changes[i]);
  }
  out.add("kubeproxy_sync_proxy_rules_endpoint_changes_pending", pending_slices);
  out.add("kubeproxy_sync_proxy_rules_endpoint_changes_total", slices);
  out.add("kubeproxy_sync_proxy_rules_service_changes_pending", pending_services);
  out.add("kubeproxy_sync_proxy_rules_service_changes_total", services);
}

void add_store(const snapshot::StoreStatistics& store, Families& out) {
  out.add("sluice_endpoint_slices", number(store.slices));
  out.add("sluice_endpoints", number(store.endpoints));
  out.add("sluice_events_total", number(store.events));
  out.add("sluice_no_op_events_total", number(store.no_op));
  out.add("sluice_services", number(store.services));
  out.add("sluice_store_queue_length", number(store.queue_length));
  out.add("sluice_unusable_objects_total", number(store.unusable));
}

void add_events(const kube::EventStatistics& events, Families& out) {
  for (const auto& [count, result] : {std::pair(events.dropped, "dropped"), std::pair(events.failed, "failed"),
                                      std::pair(events.written, "written")}) {
    out.add("sluice_cluster_events_total", number(count), {{"result", result}});
  }
}

void add_families(const ScrapeData& in, Families& out) {
  const auto each = [&](std::string_view name, auto value) {
    for (const auto& family : in.families) {
      out.add(name, value(family), {{"ip_family", std::string(lib::family_name(family.family))}});
    }
  };
  using Family = ScrapeData::PerFamily;
  for (const auto& family : in.families) {
    if (!family.loop.last_queued) continue;
    out.add("kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds", unix_seconds(*family.loop.last_queued),
            {{"ip_family", std::string(lib::family_name(family.family))}});
  }
  each("sluice_backend_overdue", [](const Family& f) { return f.overdue ? 1.0 : 0.0; });
  each("sluice_backend_unwell", [](const Family& f) { return f.loop.unwell ? 1.0 : 0.0; });
  each("sluice_first_sync_completed", [](const Family& f) { return f.synced_once ? 1.0 : 0.0; });
  each("sluice_kernel_objects", [](const Family& f) { return number(f.loop.objects_owned); });
  each("sluice_kernel_writes_total", [](const Family& f) { return number(f.loop.kernel_writes); });
  each("sluice_oldest_pending_change_age_seconds", [](const Family& f) { return f.oldest_pending_seconds; });
  each("sluice_service_ports",
       [&](const Family& f) { return number(in.store.service_ports[lib::family_index(f.family)]); });
  each("sluice_service_ports_not_programmed", [](const Family& f) { return number(f.loop.not_programmed); });
  each("sluice_sync_failures_total", [](const Family& f) { return number(f.loop.failures); });
  each("sluice_sync_repairs_total", [](const Family& f) { return number(f.loop.repairs); });
}

void add_source(const std::vector<ResourceStatus>& resources, Families& out) {
  const auto each = [&](std::string_view name, auto value) {
    for (const auto& resource : resources) out.add(name, value(resource), {{"kind", resource.kind}});
  };
  each("sluice_lists_total", [](const ResourceStatus& r) { return number(r.lists); });
  each("sluice_relists_total", [](const ResourceStatus& r) { return number(r.relists); });
  each("sluice_source_connected", [](const ResourceStatus& r) { return r.connected ? 1.0 : 0.0; });
  each("sluice_source_errors_total", [](const ResourceStatus& r) { return number(r.errors); });
  each("sluice_watch_restarts_total",
       [](const ResourceStatus& r) { return r.watches == 0 ? 0.0 : number(r.watches - 1); });
}

void add_identity(const ScrapeData& in, Families& out) {
  const BuildInfo build = build_info();
  out.add("kubernetes_build_info", 1,
          {{"build_date", ""},
           {"compiler", build.compiler},
           {"git_commit", ""},
           {"git_tree_state", ""},
           {"git_version", in.kubernetes_version.empty() ? build.kubernetes_version : in.kubernetes_version},
           {"go_version", ""},
           {"major", build.kubernetes_major},
           {"minor", build.kubernetes_minor},
           {"platform", build.platform}});
  for (const auto& feature : in.features) {
    out.add("kubernetes_feature_enabled", feature.enabled ? 1 : 0, {{"name", feature.name}, {"stage", feature.stage}});
  }
  out.add("sluice_build_info", 1, {{"compiler", build.compiler}, {"version", build.version}});
  for (const auto& plugin : in.plugins) {
    out.add("sluice_plugin_info", 1, {{"abi", plugin.abi}, {"id", plugin.id}, {"version", plugin.version}});
  }
  // Two runs of one backend may retire at the same time.
  std::map<std::string, double> overdue;
  for (const auto& one : in.retiring) {
    double& most = overdue[one.backend];
    most = std::max(most, one.overdue_seconds);
  }
  for (const auto& [backend, seconds] : overdue) {
    out.add("sluice_retiring_overdue_seconds", seconds, {{"backend", backend}});
  }
}

void add_log(Families& out) {
  using base::LogLevel;
  for (const auto& [level, name] : {std::pair(LogLevel::error, "error"), std::pair(LogLevel::warning, "warning"),
                                    std::pair(LogLevel::info, "info"), std::pair(LogLevel::debug, "debug")}) {
    out.add("sluice_log_lines_total", number(base::log_lines(level)), {{"severity", name}});
  }
}

void add_process(Families& out) {
  const ProcessStatistics now = process_statistics();
  const auto add = [&](std::string_view name, const std::optional<double>& value) {
    if (value) out.add(name, *value);
  };
  add("process_cpu_seconds_total", now.cpu_seconds);
  add("process_max_fds", now.max_fds);
  add("process_network_receive_bytes_total", now.received_bytes);
  add("process_network_transmit_bytes_total", now.sent_bytes);
  add("process_open_fds", now.open_fds);
  add("process_resident_memory_bytes", now.resident_bytes);
  add("process_start_time_seconds", now.start_time);
  add("process_virtual_memory_bytes", now.virtual_bytes);
  add("process_virtual_memory_max_bytes", now.max_virtual_bytes);
}

}  // namespace

std::string reported_kubernetes_version(const config::Settings& settings) {
  const auto flag = settings.flags.find("version");
  return flag != settings.flags.end() && flag->second.starts_with('v') ? flag->second : std::string();
}

std::vector<ScrapeData::Feature> feature_states(const config::Settings& settings) {
  std::vector<ScrapeData::Feature> out;
  for (const config::FeatureGate& gate : config::feature_gates()) {
    const config::GateEffect effect = config::effect_of(gate);
    if (!effect.any && effect.instead.empty()) continue;  // of another component
    if (gate.name == "WatchListClient") continue;         // read from the environment, by the client
    bool enabled = gate.default_on;
    if (gate.name == "AllowServiceExternalIPs") enabled = settings.allow_external_ips;
    if (gate.name == "ComponentFlagz") enabled = settings.serve.flagz;
    if (gate.name == "ComponentStatusz") enabled = settings.serve.statusz;
    out.push_back({std::string(gate.name), std::string(config::stage_label(gate.stage)), enabled});
  }
  return out;
}

std::vector<prometheus::MetricFamily> to_families(const ScrapeData& data) {
  Families out;
  add_changes(data, out);
  add_store(data.store, out);
  add_events(data.events, out);
  add_families(data, out);
  add_source(data.resources, out);
  add_identity(data, out);
  add_log(out);
  add_process(out);
  return out.take();
}

double unix_seconds(std::chrono::system_clock::time_point at) {
  return std::chrono::duration<double>(at.time_since_epoch()).count();
}

}  // namespace sluice::observe
