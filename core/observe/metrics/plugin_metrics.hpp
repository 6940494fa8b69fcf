// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What backends report of themselves. A plugin is not trusted with the shape of what is
// served: names and labels are checked, a name keeps the type it began with, and the
// number of series of a plugin is bounded. What does not fit is dropped and counted, and
// said in the log once for each plugin and reason. Any thread; nothing waits.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/observe/metrics/catalogue.hpp"
#include "core/plugin/host_services.hpp"

namespace sluice::observe {

class PluginMetrics final : public plugin::MetricSink, public prometheus::Collectable {
 public:
  // Series of one plugin in both families together. Ours have some fifty at most.
  static constexpr std::size_t kMaxSeries = 1000;
  // Beside them, of those that the catalogue has for each Service.
  static constexpr std::size_t kMaxServiceSeries = 250000;

  void record(std::string_view plugin, abi::MetricKind kind, std::string_view name, std::string_view labels,
              double value) override;
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  using Labels = std::vector<std::pair<std::string, std::string>>;  // sorted

  struct Series {
    double value = 0;                    // or the sum
    std::vector<std::uint64_t> buckets;  // of a histogram, the last is above all bounds
  };
  struct Metric {
    prometheus::MetricType type = prometheus::MetricType::Untyped;
    std::string help;
    Buckets buckets = Buckets::none;
    bool per_service = false;
    std::map<Labels, Series> series;
  };

  std::string try_record(std::string_view plugin, abi::MetricKind kind, std::string_view name, std::string_view labels,
                         double value);

  mutable std::mutex mutex_;
  std::map<std::string, Metric, std::less<>> metrics_;                 // under mutex_
  std::map<std::string, std::size_t, std::less<>> series_of_;          // under mutex_, by plugin
  std::map<std::string, std::size_t, std::less<>> service_series_of_;  // under mutex_, by plugin
  std::map<std::string, std::uint64_t, std::less<>> dropped_;          // under mutex_, by plugin
  std::set<std::pair<std::string, std::string>> told_;                 // under mutex_, plugin and reason
};

}  // namespace sluice::observe
