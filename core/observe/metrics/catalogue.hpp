// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Every metric by name: type, labels, help, buckets and origin. Used by the registry and the check of metrics that
// backends report; docs/reference/metrics.md is generated from it.
#pragma once

#include <prometheus/metric_type.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::observe {

enum class Buckets : std::uint8_t { none, sync, programming, request, size, certificate_age };

// Exported by the daemon, or by a backend, for which the name is reserved.
enum class MetricOrigin : std::uint8_t { daemon, backend };

struct MetricDefinition {
  std::string_view name;
  prometheus::MetricType type;
  std::string_view labels;  // "code, method, host"
  std::string_view help;    // stands alone
  std::string_view note{};  // for the documentation
  MetricOrigin origin = MetricOrigin::daemon;
  Buckets buckets = Buckets::none;
  bool per_service = false;  // one series for each Service, so there may be tens of thousands
};

// All of them, sorted by name.
std::span<const MetricDefinition> metric_catalogue();

// "ALPHA", "BETA" or "STABLE" from the help of Kubernetes' metrics; empty for other metrics.
std::string_view stability_level(const MetricDefinition& definition);

// Null if unknown.
const MetricDefinition* find_metric(std::string_view name);

// Upper bounds without +Inf.
const std::vector<double>& bucket_bounds(Buckets buckets);

}  // namespace sluice::observe
