// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The registry of the metrics of backends, which are not trusted: names and labels are checked, a name keeps its type
// while it has a series, and the number of series of a plugin is bounded. Invalid values are dropped and counted, and
// logged once for each plugin and reason. Any thread; never blocks. Updates of a series take no lock; the line about a
// value that they drop is written at the next scrape, or when the plugin asks for a series or ends.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/observe/metrics/series_value.hpp"
#include "core/plugin/metric_sink.hpp"
#include "lib/mutex.hpp"

namespace sluice::observe {

// Prefixes of kube-proxy and its libraries. Backends may use them for no metric, but "kubeproxy_" for declared ones.
std::span<const std::string_view> reserved_metric_prefixes();

class PluginMetrics final : public plugin::MetricSink, public prometheus::Collectable {
 public:
  // Series of one plugin, in both families together. The plugins of Sluice have at most fifty.
  static constexpr std::size_t kMaxSeries = 1000;
  // In addition, series of metrics with kMetricPerService.
  static constexpr std::size_t kMaxServiceSeries = 250000;

  PluginMetrics();
  ~PluginMetrics() override;

  std::unique_ptr<plugin::BackendMetrics> open(const std::string& plugin, lib::Family family,
                                               std::shared_ptr<const plugin::MetricDeclarations> declared) override;
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  class Backend;
  class Handle;
  using Labels = std::vector<std::pair<std::string, std::string>>;  // sorted, without empty values

  // Never removed.
  struct Plugin {
    std::string id;
    std::size_t series = 0;
    std::size_t service_series = 0;
    std::uint64_t dropped = 0;
    std::array<std::atomic<std::uint64_t>, kValueFaults> faults{};  // dropped by updates of series
    std::set<std::string, std::less<>> logged;                      // reasons
  };
  struct Series {
    Series(prometheus::MetricType type, const std::vector<double>& bounds, std::size_t& in);
    ~Series();
    SeriesValue value;
    std::size_t& counted_in;                       // of the plugin that made it
    bool removed = false;                          // by one of its users, while others use it
    std::vector<std::unique_ptr<Handle>> handles;  // one for each backend object that uses it
  };
  struct Metric {
    prometheus::MetricType type = prometheus::MetricType::Untyped;
    std::string help;
    std::vector<double> bounds;
    std::map<Labels, Series> series{};  // not empty
  };
  using Metrics = std::map<std::string, Metric, std::less<>>;
  struct Place {
    Metrics::iterator metric;
    std::map<Labels, Series>::iterator series;
  };
  // What decides about a metric: its declaration, or the kind of the value.
  struct Shape {
    prometheus::MetricType type;
    const plugin::DeclaredMetric* declared;  // null if undeclared
  };
  struct Dropped {
    std::string_view plugin;
    std::string name;
    std::string reason;
  };

  void record(Backend& from, abi::MetricKind kind, std::string_view name, std::string_view labels, double value);
  abi::MetricSeries* series(Backend& from, std::string_view name, const std::vector<std::string_view>& label_values,
                            std::string& reason);
  void remove(Backend& from, abi::MetricSeries* series);
  void close(Backend& from);

  std::string try_record(Backend& from, abi::MetricKind kind, std::string_view name, std::string_view labels,
                         double value) SLUICE_REQUIRES(mutex_);
  std::string try_series(Backend& from, std::string_view name, const std::vector<std::string_view>& label_values,
                         Handle*& out) SLUICE_REQUIRES(mutex_);
  std::string check(std::string_view name, const Shape& shape) const SLUICE_REQUIRES(mutex_);
  std::string find_or_make(Plugin& plugin, std::string_view name, const Shape& shape, Labels labels, Place& place)
      SLUICE_REQUIRES(mutex_);
  Handle& handle(Backend& from, const Place& place) SLUICE_REQUIRES(mutex_);
  void let_go(Handle& handle, bool remove) SLUICE_REQUIRES(mutex_);
  void note_faults(Plugin& plugin, std::vector<Dropped>& to_log) const SLUICE_REQUIRES(mutex_);
  static bool first_time(Plugin& plugin, std::string_view reason);
  static void log(const std::vector<Dropped>& dropped);

  mutable lib::Mutex mutex_;
  Metrics metrics_ SLUICE_GUARDED_BY(mutex_);
  mutable std::map<std::string, Plugin, std::less<>> plugins_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::observe
