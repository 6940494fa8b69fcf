// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Every metric of the daemon by name: type, labels, help and buckets. Used by the registry, and to reject metrics of backends
// with the same name; docs/reference/metrics.md is generated from it and from the descriptors of the plugins.
#pragma once

#include <prometheus/metric_type.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::observe {

enum class Buckets : std::uint8_t { none, sync, programming, request, size, certificate_age };

struct MetricDefinition {
  std::string_view name;
  prometheus::MetricType type;
  std::string_view labels;  // "code, method, host"
  std::string_view help;    // stands alone
  std::string_view note{};  // for the documentation
  Buckets buckets = Buckets::none;
};

// All of them, sorted by name.
std::span<const MetricDefinition> metric_catalogue();

// "ALPHA", "BETA" or "STABLE" from the help of Kubernetes' metrics; empty for other metrics.
std::string_view stability_level(std::string_view help);

// Null if unknown.
const MetricDefinition* find_metric(std::string_view name);

// Upper bounds without +Inf.
const std::vector<double>& bucket_bounds(Buckets buckets);

}  // namespace sluice::observe
