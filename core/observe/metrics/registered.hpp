// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Metrics about metrics, as the shared library of Kubernetes has them. Pure.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace sluice::observe {

// How many metrics there are of each stability level: those that the daemon fills, and those of `of_plugins`, what
// backends have reported. None is ever hidden or disabled, and no list of allowed label values is enforced.
std::vector<prometheus::MetricFamily> registered_families(const std::vector<prometheus::MetricFamily>& of_plugins);

}  // namespace sluice::observe
