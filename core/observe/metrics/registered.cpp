// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/metrics/registered.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "core/observe/metrics/catalogue.hpp"

namespace sluice::observe {
namespace {

prometheus::MetricFamily counter_family(std::string_view name) {
  const MetricDefinition* definition = find_metric(name);
  return {std::string(name), std::string(definition->help), definition->type, {}};
}

prometheus::MetricFamily zero(std::string_view name) {
  prometheus::MetricFamily out = counter_family(name);
  out.metric.emplace_back();
  return out;
}

}  // namespace

std::vector<prometheus::MetricFamily> registered_families(
    const std::vector<prometheus::MetricFamily>& plugin_families) {
  std::map<std::string_view, double> counts;  // by stability level
  const auto count = [&counts](std::string_view help) {
    if (const auto level = stability_level(help); !level.empty()) ++counts[level];
  };
  for (const MetricDefinition& definition : metric_catalogue()) count(definition.help);
  for (const auto& family : plugin_families) {
    if (find_metric(family.name) == nullptr) count(family.help);
  }
  prometheus::MetricFamily registered = counter_family("registered_metrics_total");
  for (const auto& [level, number] : counts) {
    prometheus::ClientMetric metric;
    metric.label = {{"deprecated_version", ""}, {"stability_level", std::string(level)}};
    metric.counter.value = number;
    registered.metric.push_back(std::move(metric));
  }
  return {zero("cardinality_enforcement_unexpected_categorizations_total"), zero("disabled_metrics_total"),
          zero("hidden_metrics_total"), std::move(registered)};
}

}  // namespace sluice::observe
