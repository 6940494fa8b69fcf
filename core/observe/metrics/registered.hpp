// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Metrics about metrics, as in the shared library of Kubernetes. Pure.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace sluice::observe {

// Counts the metrics of each stability level, of the daemon and in `plugin_families`, the metrics reported by backends.
// No metric is hidden or disabled, and no allow-list of label values is enforced.
std::vector<prometheus::MetricFamily> registered_families(const std::vector<prometheus::MetricFamily>& plugin_families);

}  // namespace sluice::observe
