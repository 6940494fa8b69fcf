// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The metrics that a plugin declares in its descriptor, validated and copied, because series outlive the library. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/status.hpp"
#include "sluice/abi/entry.hpp"

namespace sluice::plugin {

inline constexpr std::size_t kMaxMetricNameLength = 200;

struct DeclaredMetric {
  abi::MetricType type = abi::MetricType::kCounter;
  bool by_family = false;
  bool per_service = false;
  std::string help;
  std::string note;
  std::vector<std::string> labels;
  std::vector<double> buckets;
};
using MetricDeclarations = std::map<std::string, DeclaredMetric, std::less<>>;

// [a-zA-Z_:][a-zA-Z0-9_:]*, at most kMaxMetricNameLength bytes.
bool is_metric_name(std::string_view name);
// [a-zA-Z_][a-zA-Z0-9_]* that does not begin with "__".
bool is_label_name(std::string_view name);

// The declarations of PluginEntry::metrics. The error names the metric, the fault and the remedy. A type that a later minor
// of the ABI added is no fault: the metric is skipped.
lib::Result<MetricDeclarations> read_metric_declarations(const abi::PluginEntry& entry);

}  // namespace sluice::plugin
