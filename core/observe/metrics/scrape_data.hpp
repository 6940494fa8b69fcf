// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Values that are read at scrape time, and their conversion to metric families. Pure.
#pragma once

#include <prometheus/metric_family.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/config/settings.hpp"
#include "core/kube/events/event_recorder.hpp"
#include "core/observe/resource_status.hpp"
#include "core/snapshot/store_statistics.hpp"
#include "core/sync/loop_statistics.hpp"
#include "lib/ip.hpp"

namespace sluice::observe {

struct ScrapeData {
  struct PerFamily {
    lib::Family family = lib::Family::ipv4;
    sync::LoopStatistics loop{};
    double oldest_pending_seconds = 0;
    bool overdue = false;
    bool synced_once = false;
  };
  struct Plugin {
    std::string id;
    std::string version;
    std::string abi;
  };
  struct Retiring {
    std::string backend;
    double overdue_seconds = 0;  // since the end of its drain timeout
  };
  struct Feature {
    std::string name;
    std::string stage;  // "ALPHA", "BETA", "DEPRECATED", or empty for GA
    bool enabled = false;
  };
  snapshot::StoreStatistics store;
  kube::EventStatistics events;
  std::vector<PerFamily> families;
  std::vector<ResourceStatus> resources;
  std::vector<Plugin> plugins;
  std::vector<Retiring> retiring;
  std::vector<Feature> features;
  std::string kubernetes_version;  // overrides the version of the followed release; may be empty
};

// The state of the feature gates of this daemon (BEH 11.10).
std::vector<ScrapeData::Feature> feature_states(const config::Settings& settings);
// ScrapeData::kubernetes_version from --version=vX.Y.Z.
std::string reported_kubernetes_version(const config::Settings& settings);

// Seconds since the epoch, as in Prometheus.
double unix_seconds(std::chrono::system_clock::time_point at);

// Adds the metrics of the process: build, memory, log lines.
std::vector<prometheus::MetricFamily> to_families(const ScrapeData& data);

}  // namespace sluice::observe
