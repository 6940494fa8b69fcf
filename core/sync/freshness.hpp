// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How fresh the kernel state is: the time of the last complete sync, and how long the oldest change has been pending.
// Any thread; no call blocks for long.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "lib/clock.hpp"
#include "lib/mutex.hpp"

namespace sluice::sync {

struct FreshnessValue {
  // The start of the loop, or the last time that the kernel had all requested changes, as kube-proxy counts it. Empty
  // before the loop starts.
  std::optional<std::chrono::system_clock::time_point> last_updated;
  // The last time that the kernel had all requested changes. Empty before the first sync.
  std::optional<std::chrono::system_clock::time_point> last_synced;
  // The start of the loop. Empty before.
  std::optional<lib::Clock::Time> begun;
  // When the oldest pending change was requested. Empty if none is pending.
  std::optional<lib::Clock::Time> pending_since;
};

class Freshness {
 public:
  void begun(std::chrono::system_clock::time_point now, lib::Clock::Time clock_now) {
    const lib::Lock lock(mutex_);
    value_.last_updated = now;
    value_.begun = clock_now;
  }
  void updated(std::chrono::system_clock::time_point now) {
    const lib::Lock lock(mutex_);
    value_.last_updated = value_.last_synced = now;
    taken_.reset();
    value_.pending_since = waiting_;
  }
  void requested(lib::Clock::Time now) {
    const lib::Lock lock(mutex_);
    if (!waiting_) waiting_ = now;
    if (!value_.pending_since) value_.pending_since = now;
  }
  // A run includes all requests so far; the next updated() covers these only.
  void taken(lib::Clock::Time now) {
    const lib::Lock lock(mutex_);
    if (!taken_) taken_ = waiting_.value_or(now);
    waiting_.reset();
    value_.pending_since = taken_;
  }
  // Instead of updated(): the run deferred some changes to the next one.
  void updated_partly() {
    const lib::Lock lock(mutex_);
    if (taken_) waiting_ = std::exchange(taken_, {});
    value_.pending_since = waiting_;
  }
  FreshnessValue value() const {
    const lib::Lock lock(mutex_);
    return value_;
  }

 private:
  mutable lib::Mutex mutex_;
  std::optional<lib::Clock::Time> waiting_ SLUICE_GUARDED_BY(mutex_);  // the oldest request since the last run started
  std::optional<lib::Clock::Time> taken_ SLUICE_GUARDED_BY(mutex_);  // the oldest request of the current or failed run
  FreshnessValue value_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::sync
