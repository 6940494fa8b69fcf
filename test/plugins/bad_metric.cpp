// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Fault: declares a histogram whose buckets do not ascend.
#include "zoo.hpp"

namespace {

constexpr double kBounds[] = {1, 0.5};
constexpr zoo::abi::MetricSpec kMetrics[] = {
    zoo::sdk::histogram("bad_seconds", "Duration.", zoo::sdk::array(kBounds)),
};

}  // namespace

SLUICE_PLUGIN_ENTRY = zoo::entry("bad_metric", &zoo::sdk::create<zoo::PlainBackend>, {}, zoo::sdk::array(kMetrics));
