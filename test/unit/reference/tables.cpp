// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "core/config/mode_table.hpp"
#include "core/observe/events/event_table.hpp"
#include "core/observe/metrics/catalogue.hpp"
#include "core/observe/metrics/plugin_metrics.hpp"
#include "core/observe/pages/http_pages.hpp"
#include "core/plugin/metric_declarations.hpp"
#include "lib/text.hpp"
#include "plugins/common/event_reasons.hpp"
#include "test/unit/reference/parts.hpp"

namespace sluice::reference {
namespace {

// A metric of the daemon or of backends.
struct Metric {
  std::string name;
  prometheus::MetricType type = prometheus::MetricType::Untyped;
  std::string labels;
  std::string help;
  std::string note;
  std::string modes;  // empty: the daemon has it
};

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

prometheus::MetricType type_of(abi::MetricType type) {
  if (type == abi::MetricType::kCounter) return prometheus::MetricType::Counter;
  return type == abi::MetricType::kGauge ? prometheus::MetricType::Gauge : prometheus::MetricType::Histogram;
}

// From the descriptor of the built plugin.
plugin::MetricDeclarations declared_by(std::string_view mode) {
  const char* const tree = std::getenv("SLUICE_BUILDDIR");
  const std::string id(mode);
  const std::string file = std::string(tree == nullptr ? "." : tree) + "/plugins/" + id + "/.libs/" + id + ".so";
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto* const entry = static_cast<const abi::PluginEntry*>(dlsym(library, SLUICE_ABI_SYMBOL));
  if (entry == nullptr) throw std::runtime_error(file + " has no descriptor");
  auto metrics = plugin::read_metric_declarations(*entry);
  if (!metrics.ok()) throw std::runtime_error(file + ": " + metrics.status().message());
  return std::move(metrics.value());
}

// Sorted by name. Backends that share a name must declare the same.
const std::vector<Metric>& all_metrics() {
  static const std::vector<Metric> all = [] {
    std::map<std::string, Metric> out;
    for (const observe::MetricDefinition& metric : observe::metric_catalogue()) {
      out[std::string(metric.name)] = {std::string(metric.name), metric.type, std::string(metric.labels),
                                       std::string(metric.help), std::string(metric.note), ""};
    }
    for (const char* mode : {"iptables", "ipvs", "nftables", "userspace"}) {
      for (const auto& [name, metric] : declared_by(mode)) {
        std::vector<std::string> labels = metric.labels;
        if (metric.by_family) labels.insert(labels.begin(), "ip_family");
        const Metric made{name, type_of(metric.type), lib::joined(labels), metric.help, metric.note, mode};
        const auto [place, is_new] = out.emplace(name, made);
        if (is_new) continue;
        Metric& known = place->second;
        if (known.modes.empty() || known.type != made.type || known.labels != made.labels || known.help != made.help ||
            known.note != made.note) {
          throw std::runtime_error(std::string(mode) + " declares another " + name);
        }
        known.modes += std::string(", ") + mode;
      }
    }
    std::vector<Metric> sorted;
    for (auto& [name, metric] : out) sorted.push_back(std::move(metric));
    return sorted;
  }();
  return all;
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
std::string description(const Metric& metric) {
  if (group_of(metric.name) == Group::kube_proxy && !metric.note.empty()) return prose(metric.note);
  std::string_view help = metric.help;
  if (const auto level = observe::stability_level(metric.help); !level.empty()) help.remove_prefix(level.size() + 3);
  std::string out(help);
  if (!out.ends_with('.')) out += '.';
  return prose(sentences({out, metric.note}));
}

std::string metrics(Group group) {
  std::vector<const Metric*> in;
  for (const Metric& metric : all_metrics()) {
    if (group_of(metric.name) == group) in.push_back(&metric);
  }
  const bool of_backends = std::any_of(in.begin(), in.end(), [](const Metric* one) { return !one->modes.empty(); });
  std::vector<std::string> head{"Metric", "Type", "Unit", "Labels", "Description"};
  if (of_backends) head.insert(head.begin() + 4, "Modes");
  std::string out = heading_row(head);
  for (const Metric* metric : in) {
    std::vector<std::string> cells{code(metric->name), type_name(metric->type), unit_of(metric->name), metric->labels,
                                   description(*metric)};
    if (of_backends) cells.insert(cells.begin() + 4, metric->modes.empty() ? "all" : metric->modes);
    out += row(cells);
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
