// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// All figures the daemon serves under /metrics: those it is told as they happen, those of
// backends, and those it fetches when somebody asks. Registry and text are prometheus-cpp's.
//
// Every method may be called by any thread. Recording takes the short lock of one series;
// text() holds none while it fetches or prints.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/app/metrics/figures.hpp"
#include "core/app/metrics/plugin_metrics.hpp"
#include "core/app/reload/reload_result.hpp"
#include "core/base/ip.hpp"
#include "core/kube/http/request_observer.hpp"
#include "core/sync/sync_report.hpp"

namespace sluice::app {

class Metrics final : public kube::RequestObserver {
 public:
  // What text() says in its Content-Type.
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  Metrics();

  void conntrack_reconciled(base::Family family, double seconds, std::uint64_t deleted);
  void answered_healthz(int code);
  void answered_livez(int code);
  void synced(base::Family family, const sync::SyncReport& report);
  void reloaded(const ReloadResult& result);
  void swapped(const std::string& from, const std::string& to, bool ok, double seconds, double longest_wait_seconds);

  // kube::RequestObserver
  void answered(std::string_view host, std::string_view method, int status, double seconds) override;
  void waited(std::string_view host, std::string_view method, double seconds) override;

  // Where backends report to; lives as long as this.
  plugin::MetricSink& of_plugins() { return plugins_; }

  // Where text() gets what nobody records. It must be quick and wait for nobody. REQUIRES:
  // what it reads lives until it is replaced, and no text() runs meanwhile.
  void set_figures(std::function<Figures()> figures) { figures_ = std::move(figures); }

  // Everything in the text format 0.0.4, families and series in order.
  std::string text() const;

 private:
  using Labels = prometheus::Labels;

  template <class Builder>
  auto& family(Builder builder, std::string_view name);
  static prometheus::Histogram& add(prometheus::Family<prometheus::Histogram>& family, const Labels& labels);

  prometheus::Registry registry_;
  PluginMetrics plugins_;
  std::function<Figures()> figures_;

  prometheus::Family<prometheus::Histogram>& sync_duration_;
  prometheus::Family<prometheus::Histogram>& full_duration_;
  prometheus::Family<prometheus::Histogram>& partial_duration_;
  prometheus::Family<prometheus::Histogram>& select_duration_;
  prometheus::Family<prometheus::Histogram>& apply_duration_;
  prometheus::Family<prometheus::Histogram>& kernel_duration_;
  prometheus::Family<prometheus::Histogram>& programming_duration_;
  prometheus::Family<prometheus::Gauge>& last_sync_;
  prometheus::Family<prometheus::Histogram>& conntrack_duration_;
  prometheus::Family<prometheus::Counter>& conntrack_deleted_;
  prometheus::Family<prometheus::Counter>& swaps_;
  prometheus::Family<prometheus::Histogram>& swap_duration_;
  prometheus::Family<prometheus::Gauge>& swap_wait_;
  prometheus::Family<prometheus::Counter>& healthz_;
  prometheus::Family<prometheus::Counter>& livez_;
  prometheus::Family<prometheus::Counter>& reloads_;
  prometheus::Family<prometheus::Gauge>& last_reload_successful_;
  prometheus::Family<prometheus::Gauge>& last_reload_success_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Histogram>& request_duration_;
  prometheus::Family<prometheus::Histogram>& limiter_duration_;
};

}  // namespace sluice::app
