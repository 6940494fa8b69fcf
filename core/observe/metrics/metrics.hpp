// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// All metrics that the daemon serves under /metrics: recorded ones, those of backends, and
// values read at scrape time. Registry and text format are prometheus-cpp's.
//
// Every method may be called by any thread. Recording takes the short lock of one series;
// text() holds none while it fetches or prints.
#pragma once

#include <prometheus/registry.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/kube/http/client_observer.hpp"
#include "core/observe/metrics/plugin_metrics.hpp"
#include "core/observe/metrics/scrape_data.hpp"
#include "core/observe/start_trace.hpp"
#include "core/reload/reload_result.hpp"
#include "core/sync/sync_report.hpp"
#include "lib/ip.hpp"
#include "lib/mutex.hpp"

namespace sluice::observe {

class Metrics final : public kube::ClientObserver {
 public:
  Metrics();
  ~Metrics() override;
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void conntrack_reconciled(lib::Family family, double seconds, std::uint64_t deleted);
  void answered_healthz(int code);
  void answered_livez(int code);
  void synced(lib::Family family, const sync::SyncReport& report);
  void reloaded(const reload::ReloadResult& result);
  void started(const StartReport& report);
  void swapped(const std::string& from, const std::string& to, bool ok, double seconds, double longest_wait_seconds);

  // kube::ClientObserver
  void answered(const kube::AnsweredRequest& request) override;
  void waited(std::string_view host, std::string_view method, double seconds) override;
  void pool_used(kube::PoolUse use) override;
  void pools_kept(int change) override;
  void exec_plugin_called(int code, std::string_view status) override;
  void exec_certificate_expires(const void* plugin, std::optional<std::chrono::system_clock::time_point> when) override;
  void exec_certificate_rotated(double age_seconds) override;
  void ca_reloaded(bool success, std::string_view reason) override;

  // The sink for metrics of backends; lives as long as this.
  plugin::MetricSink& plugin_sink() { return plugins_; }

  // Called by text() for values that are not recorded; must be quick and must not block.
  // REQUIRES: the objects it reads outlive it, and no other thread calls text() during the
  // call.
  void set_scrape_source(std::function<ScrapeData()> source) { scrape_source_ = std::move(source); }

  // Everything in the text format 0.0.4, families and series in order.
  std::string text() const;

 private:
  struct Recorded;

  double shortest_ttl() const;

  prometheus::Registry registry_;
  PluginMetrics plugins_;
  std::function<ScrapeData()> scrape_source_;

  const std::unique_ptr<Recorded> recorded_;

  mutable lib::Mutex mutex_;
  // Expiry of the client certificate of each exec credential plugin.
  std::map<const void*, std::chrono::system_clock::time_point> certificates_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::observe
