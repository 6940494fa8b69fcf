// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Metrics reported by backends, which are not trusted: names and labels are checked, a name
// keeps its first type, and the number of series of a plugin is bounded. Invalid values are
// dropped and counted, and logged once for each plugin and reason. Any thread; never blocks.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/observe/metrics/catalogue.hpp"
#include "core/plugin/host_services.hpp"
#include "lib/mutex.hpp"

namespace sluice::observe {

// Prefixes of kube-proxy and its libraries. Backends may use the names that the catalogue reserves for them, and their
// own.
std::span<const std::string_view> reserved_metric_prefixes();

class PluginMetrics final : public plugin::MetricSink, public prometheus::Collectable {
 public:
  // Series of one plugin, in both families together. The plugins of Sluice have at most fifty.
  static constexpr std::size_t kMaxSeries = 1000;
  // In addition, series of metrics with `per_service`.
  static constexpr std::size_t kMaxServiceSeries = 250000;

  void record(std::string_view plugin, abi::MetricKind kind, std::string_view name, std::string_view labels,
              double value) override;
  std::vector<prometheus::MetricFamily> Collect() const override;

  using Labels = std::vector<std::pair<std::string, std::string>>;  // sorted
  // The series of a gauge; empty if no backend has reported it.
  std::map<Labels, double> gauge(std::string_view name) const;

 private:
  struct Series {
    double value = 0;                    // sum of a histogram
    std::vector<std::uint64_t> buckets;  // of a histogram; the last is +Inf
  };
  struct Metric {
    prometheus::MetricType type = prometheus::MetricType::Untyped;
    std::string help;
    Buckets buckets = Buckets::none;
    bool per_service = false;
    std::map<Labels, Series> series;
  };

  std::string try_record(std::string_view plugin, abi::MetricKind kind, std::string_view name, std::string_view labels,
                         double value) SLUICE_REQUIRES(mutex_);

  mutable lib::Mutex mutex_;
  std::map<std::string, Metric, std::less<>> metrics_ SLUICE_GUARDED_BY(mutex_);
  std::map<std::string, std::size_t, std::less<>> series_of_ SLUICE_GUARDED_BY(mutex_);          // by plugin
  std::map<std::string, std::size_t, std::less<>> service_series_of_ SLUICE_GUARDED_BY(mutex_);  // by plugin
  std::map<std::string, std::uint64_t, std::less<>> dropped_ SLUICE_GUARDED_BY(mutex_);          // by plugin
  std::set<std::pair<std::string, std::string>> logged_ SLUICE_GUARDED_BY(mutex_);               // plugin and reason
};

}  // namespace sluice::observe
