// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Writes events to the API server (events.k8s.io/v1) in its own thread. Events are best effort: recording never blocks
// and reports no result, and an API server that rejects or stalls costs only a bounded queue and a few log lines.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "core/kube/events/cluster_event.hpp"
#include "core/kube/events/event_series.hpp"
#include "core/kube/http/request_budget.hpp"
#include "core/kube/http/transport.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"

namespace sluice::kube {

struct EventRecorderOptions {
  std::string node_name;
  std::size_t queue = 100;  // maximum length; when it is full, the oldest event is dropped
  // Attempts to write one event while the server is unavailable, and the delay after the first, which doubles up to
  // `longest_pause`.
  int tries = 12;
  std::chrono::milliseconds pause{1000};
  std::chrono::milliseconds longest_pause{30'000};
  // A separate rate limit (requests per second), so that events leave most of the shared one to watches.
  double qps = 1;
  int burst = 10;
};

struct EventStatistics {
  std::uint64_t written = 0;  // accepted by the server
  std::uint64_t failed = 0;   // rejected, or all attempts failed
  std::uint64_t dropped = 0;  // the queue was full
};

class EventRecorder {
 public:
  // The clock must outlive the recorder.
  EventRecorder(EventRecorderOptions options, const lib::Clock& clock);
  ~EventRecorder();  // stops
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  // [any thread, also before start()] Never blocks. Does nothing after drain().
  void record(ClusterEvent event);

  // [owner] Must be called once. The transport must live until stop() or set_transport() has returned. Null: there is no API
  // server, events go to the debug log only.
  void start(Transport* transport);
  // [one thread] Replaces the transport (null as in start()); queued events use the new one. Returns when the old one
  // is no longer used, which is soon if it is stopped. REQUIRES: started.
  void set_transport(Transport* transport);
  // [owner] Before shutdown: writes the queued events without retries, for at most `at_most`.
  void drain(lib::Clock::Duration at_most);
  // [owner] Must be called after drain(), and after Transport::stop() if the server may not respond.
  void stop();

  EventStatistics statistics() const;  // any thread

 private:
  void run();
  void write_with_retries(const EventWrite& write);
  bool pause(lib::Clock::Duration time) SLUICE_REQUIRES(mutex_);
  void log_once(int status, bool given_up, const std::string& message);

  const EventRecorderOptions options_;
  const lib::Clock& clock_;

  mutable lib::Mutex mutex_;
  lib::ConditionVariable changed_;
  std::deque<ClusterEvent> queue_ SLUICE_GUARDED_BY(mutex_);
  Transport* transport_ SLUICE_GUARDED_BY(mutex_) = nullptr;
  bool sending_ SLUICE_GUARDED_BY(mutex_) = false;  // a request is in progress
  bool busy_ SLUICE_GUARDED_BY(mutex_) = false;
  bool closing_ SLUICE_GUARDED_BY(mutex_) = false;  // drain() or stop(): nothing is added, nothing waits
  bool overflowed_ SLUICE_GUARDED_BY(mutex_) = false;
  EventStatistics statistics_ SLUICE_GUARDED_BY(mutex_);

  // The recorder's thread only.
  EventSeries series_;
  TokenBucket bucket_;
  std::set<std::pair<int, bool>> logged_;  // HTTP status (0 = no connection), given up
  std::thread thread_;
};

}  // namespace sluice::kube
