// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reports the metrics of the relays to the daemon every few seconds, from its own thread: verify()
// runs too rarely for that. One of the families that share an engine reports the engine's metrics,
// without a label; each family reports its own metrics.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_set>

#include "lib/mutex.hpp"
#include "plugins/userspace/relay/engine.hpp"
#include "plugins/userspace/relay/listener.hpp"
#include "sluice/sdk/metrics.hpp"

namespace sluice::userspace {

class MetricsReporter {
 public:
  static constexpr std::chrono::seconds kInterval{5};
  static constexpr std::size_t kEngineSeries = 31;

  // Starts the thread. `beside_old_backend`: another userspace backend may still report
  // the same gauges, so this one waits for an interval. Counters are reported as increments, so that several engines,
  // or several copies of this plugin, add up.
  MetricsReporter(const sdk::Metrics& metrics, std::shared_ptr<Engine> engine,
                  std::chrono::milliseconds interval = kInterval, bool beside_old_backend = false);
  ~MetricsReporter();  // ends the thread and reports the last increments
  MetricsReporter(const MetricsReporter&) = delete;
  MetricsReporter& operator=(const MetricsReporter&) = delete;

  // The following may be called from any thread.

  // The listeners whose affinity entries and endpoints are counted.
  void add(const ListenerPtr& listener);
  void remove(const ListenerPtr& listener);
  // The state after the last apply.
  void set_portals(std::size_t portals, std::size_t claims, std::size_t conflicts);
  // Reports now.
  void report();
  // Whether this reporter reports the metrics of the engines of this process.
  bool is_leader() const;
  // Another backend reports the gauges and the engines from now on.
  void yield();
  // This backend reports them again.
  void resume();

 private:
  void run();
  void report_family();
  void report_engines();
  bool reports_gauges();

  // Of the family.
  struct Gauges {
    sdk::Series affinity_clients, endpoints_passed_over, portals, claims, claim_conflicts;
  };

  const sdk::Metrics metrics_;
  const std::shared_ptr<Engine> engine_;
  const std::chrono::milliseconds interval_;

  lib::Mutex report_mutex_;  // held for a whole report, so that an older value never overwrites a newer one
  // These exist from the first report on. Only report() uses them, and the destructor.
  std::optional<Gauges> gauges_;
  std::array<std::optional<sdk::Series>, kEngineSeries> engine_series_;

  lib::Mutex mutex_;
  lib::ConditionVariable wake_;
  bool ending_ SLUICE_GUARDED_BY(mutex_) = false;
  bool waiting_ SLUICE_GUARDED_BY(mutex_);          // reports no gauges yet
  bool yielded_ SLUICE_GUARDED_BY(mutex_) = false;  // reports no gauges any more
  std::unordered_set<ListenerPtr> listeners_ SLUICE_GUARDED_BY(mutex_);
  std::size_t portals_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::size_t claims_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::size_t conflicts_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace sluice::userspace
