// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/mode_table.hpp"
#include "core/observe/events/event_table.hpp"
#include "core/observe/metrics/catalogue.hpp"
#include "core/observe/metrics/plugin_metrics.hpp"
#include "core/observe/pages/http_pages.hpp"
#include "plugins/common/event_reasons.hpp"
#include "test/unit/reference/parts.hpp"

namespace sluice::reference {
namespace {

using observe::MetricDefinition;

enum class Group { kube_proxy, kubernetes, daemon, iptables, nftables, ipvs, userspace };

Group group_of(std::string_view name) {
  if (name.starts_with("kubeproxy_")) return Group::kube_proxy;
  if (name.starts_with("sluice_iptables_")) return Group::iptables;
  if (name.starts_with("sluice_nftables_")) return Group::nftables;
  if (name.starts_with("sluice_ipvs_")) return Group::ipvs;
  if (name.starts_with("sluice_userspace_")) return Group::userspace;
  return name.starts_with("sluice_") ? Group::daemon : Group::kubernetes;
}

std::string type_name(prometheus::MetricType type) {
  switch (type) {
    case prometheus::MetricType::Counter:
      return "counter";
    case prometheus::MetricType::Gauge:
      return "gauge";
    case prometheus::MetricType::Histogram:
      return "histogram";
    default:
      return "";
  }
}

std::string unit_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("timestamp_seconds") || name == "process_start_time_seconds") return "Unix time, s";
  if (has("_seconds") || name.ends_with("rotation_age")) return "s";
  if (has("_bytes")) return "bytes";
  return "";
}

// A help text of Kubernetes begins with its stability level and may have no mark at its end. The notes about metrics of
// kube-proxy stand alone.
std::string description(const MetricDefinition& metric) {
  if (group_of(metric.name) == Group::kube_proxy && !metric.note.empty()) return prose(metric.note);
  std::string_view help = metric.help;
  if (const auto level = observe::stability_level(metric); !level.empty()) help.remove_prefix(level.size() + 3);
  std::string out(help);
  if (!out.ends_with('.')) out += '.';
  return prose(sentences({out, std::string(metric.note)}));
}

std::string metrics(Group group) {
  std::string out = heading_row({"Metric", "Type", "Unit", "Labels", "Description"});
  for (const MetricDefinition& metric : observe::metric_catalogue()) {
    if (group_of(metric.name) != group) continue;
    out += row({code(metric.name), type_name(metric.type), unit_of(metric.name), std::string(metric.labels),
                description(metric)});
  }
  return out;
}

std::string reserved_prefixes() {
  std::string out;
  for (const std::string_view prefix : observe::reserved_metric_prefixes()) {
    out += (out.empty() ? "" : ", ") + code(prefix);
  }
  return out + "\n";
}

std::string paths(observe::PageServer server) {
  using config::ServeSettings;
  std::string out = heading_row({"Path", "Served", "Response"});
  for (const observe::PagePath& page : observe::page_paths()) {
    if (page.server != server) continue;
    const std::string when = page.only_with == &ServeSettings::flagz       ? "unless `ComponentFlagz=false`"
                             : page.only_with == &ServeSettings::statusz   ? "unless `ComponentStatusz=false`"
                             : page.only_with == &ServeSettings::profiling ? "with `--profiling`"
                                                                           : "always";
    out += row({code(page.path) + (page.below ? " and below" : ""), when, prose(page.answer)});
  }
  return out;
}

std::string events() {
  std::string out = heading_row({"Reason", "Type", "Regarding", "Action", "Message", "When"});
  for (const auto& event : observe::event_table::kRows) {
    out += row({code(event.reason), std::string(event.type), std::string(event.regarding), code(event.action),
                code(event.message), prose(event.when)});
  }
  for (const config::ModeFacts& mode : config::mode_table()) {
    if (mode.deprecation_event.empty()) continue;
    out += row({code(mode.deprecation_event), "Warning", "Node", code(observe::event_table::kStarting.action),
                code(std::string(mode.id) + " mode is deprecated …"),
                "Once at each start in " + std::string(mode.id) + " mode, as with kube-proxy."});
  }
  return out;
}

std::string events_of_backends() {
  std::string out = heading_row({"Reason", "Mode", "When"});
  for (const auto& event : event_reasons::kRows) {
    out += row({code(event.reason), std::string(event.mode), prose(event.when)});
  }
  return out;
}

}  // namespace

Parts table_parts() {
  return {
      {"metrics of kube-proxy", [] { return metrics(Group::kube_proxy); }},
      {"metrics of Kubernetes libraries", [] { return metrics(Group::kubernetes); }},
      {"metrics of Sluice", [] { return metrics(Group::daemon); }},
      {"metrics iptables", [] { return metrics(Group::iptables); }},
      {"metrics nftables", [] { return metrics(Group::nftables); }},
      {"metrics ipvs", [] { return metrics(Group::ipvs); }},
      {"metrics userspace", [] { return metrics(Group::userspace); }},
      {"reserved prefixes of metrics", reserved_prefixes},
      {"paths of the health server", [] { return paths(observe::PageServer::health); }},
      {"paths of the metrics server", [] { return paths(observe::PageServer::metrics); }},
      {"events", events},
      {"events of backends", events_of_backends},
  };
}

}  // namespace sluice::reference
