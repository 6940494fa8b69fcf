// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Writes events to the API server (events.k8s.io/v1), in a thread of its own. Events are a
// courtesy: whoever records one never waits and never learns what became of it, and an API
// server that refuses or stalls costs a bounded queue and a few lines of log.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "core/base/clock.hpp"
#include "core/kube/events/cluster_event.hpp"
#include "core/kube/events/event_series.hpp"
#include "core/kube/http/request_budget.hpp"
#include "core/kube/http/transport.hpp"

namespace sluice::kube {

struct EventRecorderOptions {
  std::string node_name;
  std::size_t queue = 100;  // events that wait; one more drops the oldest
  // Tries of one event while the server cannot take it, and the pause after the first,
  // which doubles up to the longest.
  int tries = 12;
  std::chrono::milliseconds pause{1000};
  std::chrono::milliseconds longest_pause{30'000};
  // Requests of its own a second, so that events leave most of the shared budget to watches.
  double qps = 1;
  int burst = 10;
};

struct EventFigures {
  std::uint64_t written = 0;  // requests the server took
  std::uint64_t failed = 0;   // given up: refused, or tried often enough
  std::uint64_t dropped = 0;  // the queue was full
};

class EventRecorder {
 public:
  // The clock outlives the recorder.
  EventRecorder(EventRecorderOptions options, const base::Clock& clock);
  ~EventRecorder();  // stops
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  // [any thread, also before start()] Never waits. After drain() it does nothing.
  void record(ClusterEvent event);

  // [owner] The transport lives until stop() or exchange() has returned; null: there is no API server,
  // events go to the debug log only. Once.
  void start(Transport* transport);
  // [one thread] Another way from now on, null as in start(); what waits goes that way. The one before is not used any
  // more when it returns, which is soon once that is stopped. REQUIRES: started.
  void exchange(Transport* transport);
  // [owner] The end is near: what waits is written without delay, as far as the server takes
  // it at once and within `at_most`.
  void drain(base::Clock::Duration at_most);
  // [owner] After drain(), and after Transport::stop() where the server may be silent.
  void stop();

  EventFigures figures() const;  // any thread

 private:
  void run();
  void carry_out(const EventWrite& write);
  bool pause(std::unique_lock<std::mutex>& lock, base::Clock::Duration time);
  void say_once(int status, bool given_up, const std::string& sentence);

  const EventRecorderOptions options_;
  const base::Clock& clock_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ClusterEvent> queue_;  // under mutex_, as is all that follows
  Transport* transport_ = nullptr;
  bool sending_ = false;  // a request is under way
  bool busy_ = false;
  bool closing_ = false;  // drain() or stop(): nothing is added, nothing waits
  bool overflowed_ = false;
  EventFigures figures_;

  // The recorder's thread only.
  EventSeries series_;
  TokenBucket bucket_;
  std::set<std::pair<int, bool>> said_;  // HTTP status (0 = no connection), given up
  std::thread thread_;
};

}  // namespace sluice::kube
