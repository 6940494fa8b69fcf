// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What is looked up at the moment of a scrape, as plain values, and how it becomes metric
// families. Pure.
#pragma once

#include <prometheus/metric_family.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ip.hpp"
#include "core/config/settings.hpp"
#include "core/kube/events/event_recorder.hpp"
#include "core/observe/resource_status.hpp"
#include "core/snapshot/store_figures.hpp"
#include "core/sync/loop_figures.hpp"

namespace sluice::observe {

struct Figures {
  struct PerFamily {
    base::Family family = base::Family::ipv4;
    sync::LoopFigures loop{};
    double oldest_pending_seconds = 0;
    bool overdue = false;
    bool synced_once = false;
  };
  struct Plugin {
    std::string id;
    std::string version;
    std::string abi;
  };
  struct Feature {
    std::string name;
    std::string stage;  // "ALPHA", "BETA", "DEPRECATED", or empty for one that is always there
    bool enabled = false;
  };
  snapshot::StoreFigures store;
  kube::EventFigures events;
  std::vector<PerFamily> families;
  std::vector<ResourceStatus> resources;
  std::vector<Plugin> plugins;
  std::vector<Feature> features;
  std::string kubernetes_version;  // to be reported; empty: that of the release we follow
};

// The feature gates (BEH 11.10) as this daemon has them.
std::vector<Figures::Feature> feature_figures(const config::Settings& settings);
// Figures::kubernetes_version, as --version=vX.Y.Z says.
std::string reported_kubernetes_version(const config::Settings& settings);

// As Prometheus writes times.
double unix_seconds(std::chrono::system_clock::time_point at);

// With the process's own: build, memory, log lines.
std::vector<prometheus::MetricFamily> to_families(const Figures& figures);

}  // namespace sluice::observe
