// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Every metric by name: type, help, buckets, and who fills it. The one list that the
// registry, the check of what backends report, and the tests of the documentation use.
#pragma once

#include <prometheus/metric_type.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::observe {

enum class Buckets : std::uint8_t { none, sync, programming, request, size, certificate_age };

// Who fills it: the daemon, or a backend, for which the name is then reserved.
enum class MetricOrigin : std::uint8_t { daemon, backend };

struct MetricDefinition {
  std::string_view name;
  prometheus::MetricType type;
  std::string_view help;
  MetricOrigin origin = MetricOrigin::daemon;
  Buckets buckets = Buckets::none;
  bool per_service = false;  // a series for each Service: there may be tens of thousands
};

// All of them, sorted by name.
std::span<const MetricDefinition> metric_catalogue();

// "ALPHA", "BETA" or "STABLE", which the help of Kubernetes' metrics begins with; empty for others.
std::string_view stability_level(const MetricDefinition& definition);

// Null when there is none of that name.
const MetricDefinition* find_metric(std::string_view name);

// Upper bounds without +Inf.
const std::vector<double>& bucket_bounds(Buckets buckets);

}  // namespace sluice::observe
