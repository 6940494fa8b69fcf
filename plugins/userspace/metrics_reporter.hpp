// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tells the daemon in figures what the relays do, every few seconds, from a thread of its
// own: verify() comes too seldom for them. What an engine counts is told by one of the families
// that use it, without a label; what belongs to a family is told by that family.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>

#include "plugins/userspace/relay/engine.hpp"
#include "plugins/userspace/relay/face.hpp"
#include "sluice/abi/host.hpp"

namespace sluice::userspace {

class MetricsReporter {
 public:
  static constexpr std::chrono::seconds kInterval{5};

  // Begins. `host` outlives this. `beside_predecessor`: a backend of this kind may still tell its gauges by the same
  // names and is given an interval to yield. Counters are told as what was added, so that those of several engines add
  // up, also where they are of several copies of this plugin.
  MetricsReporter(abi::Host& host, abi::Family family, std::shared_ptr<Engine> engine,
                  std::chrono::milliseconds interval = kInterval, bool beside_predecessor = false);
  ~MetricsReporter();  // ends the thread; tells what was counted since the last time
  MetricsReporter(const MetricsReporter&) = delete;
  MetricsReporter& operator=(const MetricsReporter&) = delete;

  // Any thread from here on.

  // Whose affinity entries and endpoints are counted.
  void add(const FacePtr& face);
  void remove(const FacePtr& face);
  // As of the last apply.
  void set_portals(std::size_t portals, std::size_t claims, std::size_t conflicts);
  // At once.
  void report();
  // Whether it is this one that speaks for the engines of the process.
  bool leads() const;
  // Somebody else tells gauges by the same names from now on, and speaks for the engines.
  void yield();
  // Nobody else does any more.
  void resume();

 private:
  void run();
  void report_family();
  void report_engines();
  bool tells_gauges();
  void tell(abi::MetricKind kind, std::string_view name, std::string_view labels, double value) const;
  void gauge(std::string_view name, std::size_t value) const;

  abi::Host& host_;
  const std::string family_label_;
  const std::shared_ptr<Engine> engine_;
  const std::chrono::milliseconds interval_;

  std::mutex telling_;  // one report after the other, so that none is older than the one before
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;                // under mutex_
  bool waiting_;                       // under mutex_: tells no gauges yet
  bool yielded_ = false;               // under mutex_: or not any more
  std::unordered_set<FacePtr> faces_;  // under mutex_
  std::size_t portals_ = 0;            // under mutex_
  std::size_t claims_ = 0;             // under mutex_
  std::size_t conflicts_ = 0;          // under mutex_
  std::thread thread_;
};

}  // namespace sluice::userspace
