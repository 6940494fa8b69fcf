// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/metrics/plugin_metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/observe/metrics/label_text.hpp"

namespace sluice::observe {
namespace {

constexpr auto kReservedPrefixes = std::to_array<std::string_view>(
    {"aggregator_", "apiserver_", "cardinality_enforcement_", "disabled_metrics_", "go_", "hidden_metrics_",
     "informer_", "kubeproxy_", "kubernetes_", "leader_election_", "process_", "registered_metrics_", "rest_client_",
     "workqueue_"});

bool is_reserved(std::string_view name) {
  return std::any_of(kReservedPrefixes.begin(), kReservedPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::optional<prometheus::MetricType> type_of(abi::MetricKind kind) {
  switch (kind) {
    case abi::MetricKind::kCounterAdd:
    case abi::MetricKind::kCounterSet:
      return prometheus::MetricType::Counter;
    case abi::MetricKind::kGaugeSet:
      return prometheus::MetricType::Gauge;
    case abi::MetricKind::kHistogramObserve:
      return prometheus::MetricType::Histogram;
  }
  return std::nullopt;
}

// Suffixes of histogram series, which must not collide with other metrics.
std::string_view without_suffix(std::string_view name) {
  for (const std::string_view suffix : {"_bucket", "_count", "_sum"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return {};
}

}  // namespace

std::span<const std::string_view> reserved_metric_prefixes() { return kReservedPrefixes; }

void PluginMetrics::record(std::string_view plugin, abi::MetricKind kind, std::string_view name,
                           std::string_view labels, double value) {
  std::string reason;
  {
    const lib::Lock lock(mutex_);
    reason = try_record(plugin, kind, name, labels, value);
    if (reason.empty()) return;
    const auto found = dropped_.find(plugin);
    if (found != dropped_.end())
      ++found->second;
    else
      dropped_.emplace(plugin, 1);
    if (!logged_.emplace(plugin, reason).second) return;
  }
  std::string shown(name.substr(0, kMaxLabelTextLength));
  base::log(base::message::kPluginMetricDropped,
            "backend " + std::string(plugin) + ": metric \"" + plugin::one_line(shown) + "\" dropped: " + reason +
                "; later ones with this reason are only counted in "
                "sluice_plugin_metrics_dropped_total",
            {{"backend", plugin}, {"name", plugin::one_line(shown)}, {"error", reason}});
}

// Returns the reason for a rejection, or an empty string.
std::string PluginMetrics::try_record(std::string_view plugin, abi::MetricKind kind, std::string_view name,
                                      std::string_view labels, double value) {
  const auto type = type_of(kind);
  if (!type) return "its kind is unknown to this daemon";
  auto metric = metrics_.find(name);
  const bool known = metric != metrics_.end();
  const MetricDefinition* definition = known ? nullptr : find_metric(name);
  if (!known) {
    if (!is_metric_name(name)) return "a name has letters, digits, _ and :, and does not begin with a digit";
    if (definition != nullptr && definition->origin != MetricOrigin::backend) return "the daemon has one of that name";
    if (definition == nullptr && is_reserved(name)) return "the beginning of its name is reserved";
    if (definition != nullptr && definition->type != *type) return "it is of another type than that name has";
    const std::string_view base_name = without_suffix(name);
    if (!base_name.empty() && (find_metric(base_name) != nullptr || metrics_.contains(base_name))) {
      return "its name is that of a part of another metric";
    }
    if (*type == prometheus::MetricType::Histogram &&
        std::any_of(metrics_.begin(), metrics_.end(),
                    [&](const auto& other) { return without_suffix(other.first) == name; })) {
      return "a part of it would have the name of another metric";
    }
  } else if (metric->second.type != *type) {
    return "it is of another type than before";
  }
  if (std::isnan(value)) return "its value is not a number";
  if (*type == prometheus::MetricType::Counter && value < 0) return "a counter does not go down";

  auto parsed = parse_labels(labels);
  if (!parsed) return "its labels are not name=\"value\",… with each name once";
  if (*type == prometheus::MetricType::Histogram &&
      std::any_of(parsed->begin(), parsed->end(), [](const auto& label) { return label.first == "le"; })) {
    return "a histogram cannot have the label le";
  }

  // Checked before anything is created, so that a dropped value leaves no empty metric.
  if (!known || !metric->second.series.contains(*parsed)) {
    const bool per_service = known ? metric->second.per_service : definition != nullptr && definition->per_service;
    const std::size_t most = per_service ? kMaxServiceSeries : kMaxSeries;
    auto& series_of = per_service ? service_series_of_ : series_of_;
    const auto count = series_of.find(plugin);
    if (count != series_of.end() && count->second >= most) {
      return "the plugin has " + std::to_string(most) + " series already";
    }
    if (count == series_of.end())
      series_of.emplace(plugin, 1);
    else
      ++count->second;
  }
  if (!known) {
    Metric made;
    made.type = *type;
    made.help =
        definition != nullptr ? std::string(definition->help) : "Reported by plugin " + std::string(plugin) + ".";
    made.per_service = definition != nullptr && definition->per_service;
    if (*type == prometheus::MetricType::Histogram) {
      made.buckets = definition != nullptr ? definition->buckets : Buckets::sync;
    }
    metric = metrics_.emplace(name, std::move(made)).first;
  }
  Series& series = metric->second.series[std::move(*parsed)];
  switch (kind) {
    case abi::MetricKind::kCounterAdd:
      series.value += value;
      break;
    case abi::MetricKind::kCounterSet:
    case abi::MetricKind::kGaugeSet:
      series.value = value;
      break;
    case abi::MetricKind::kHistogramObserve: {
      const std::vector<double>& bounds = bucket_bounds(metric->second.buckets);
      series.buckets.resize(bounds.size() + 1);
      ++series.buckets[static_cast<std::size_t>(
          std::distance(bounds.begin(), std::lower_bound(bounds.begin(), bounds.end(), value)))];
      series.value += value;
      break;
    }
  }
  return {};
}

std::map<PluginMetrics::Labels, double> PluginMetrics::gauge(std::string_view name) const {
  std::map<Labels, double> out;
  const lib::Lock lock(mutex_);
  const auto found = metrics_.find(name);
  if (found == metrics_.end() || found->second.type != prometheus::MetricType::Gauge) return out;
  for (const auto& [labels, series] : found->second.series) out.emplace(labels, series.value);
  return out;
}

std::vector<prometheus::MetricFamily> PluginMetrics::Collect() const {
  const auto client_metric = [](const Labels& labels) {
    prometheus::ClientMetric out;
    for (const auto& [name, value] : labels) out.label.push_back({name, value});
    return out;
  };
  std::vector<prometheus::MetricFamily> out;
  const lib::Lock lock(mutex_);
  for (const auto& [name, metric] : metrics_) {
    prometheus::MetricFamily family{name, metric.help, metric.type, {}};
    for (const auto& [labels, series] : metric.series) {
      prometheus::ClientMetric one = client_metric(labels);
      if (metric.type == prometheus::MetricType::Counter) one.counter.value = series.value;
      if (metric.type == prometheus::MetricType::Gauge) one.gauge.value = series.value;
      if (metric.type == prometheus::MetricType::Histogram) {
        const std::vector<double>& bounds = bucket_bounds(metric.buckets);
        for (std::size_t i = 0; i < series.buckets.size(); ++i) {
          one.histogram.sample_count += series.buckets[i];
          one.histogram.bucket.push_back({one.histogram.sample_count, i < bounds.size() ? bounds[i] : HUGE_VAL});
        }
        one.histogram.sample_sum = series.value;
      }
      family.metric.push_back(std::move(one));
    }
    out.push_back(std::move(family));
  }
  if (!dropped_.empty()) {
    const MetricDefinition* definition = find_metric("sluice_plugin_metrics_dropped_total");
    prometheus::MetricFamily family{std::string(definition->name), std::string(definition->help), definition->type, {}};
    for (const auto& [plugin, count] : dropped_) {
      prometheus::ClientMetric one = client_metric({{"plugin", plugin}});
      one.counter.value = static_cast<double>(count);
      family.metric.push_back(std::move(one));
    }
    out.push_back(std::move(family));
  }
  return out;
}

}  // namespace sluice::observe
