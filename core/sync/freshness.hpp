// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How fresh the kernel is: when it was last brought up to date, and since when the oldest
// change waits for it. Any thread; every call is short.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/clock.hpp"

namespace sluice::sync {

struct FreshnessValue {
  // The loop began, or everything asked for was in the kernel. Nothing: the loop has not begun. As kube-proxy counts
  // it.
  std::optional<std::chrono::system_clock::time_point> last_updated;
  // Everything asked for was in the kernel. Nothing: never since the start.
  std::optional<std::chrono::system_clock::time_point> last_synced;
  // When the loop began. Nothing: it has not.
  std::optional<base::Clock::Time> begun;
  // When the oldest change was asked for that the kernel lacks. Nothing when it lacks nothing.
  std::optional<base::Clock::Time> pending_since;
};

class Freshness {
 public:
  void begun(std::chrono::system_clock::time_point now, base::Clock::Time clock_now) {
    const std::lock_guard lock(mutex_);
    value_.last_updated = now;
    value_.begun = clock_now;
  }
  void updated(std::chrono::system_clock::time_point now) {
    const std::lock_guard lock(mutex_);
    value_.last_updated = value_.last_synced = now;
    taken_.reset();
    value_.pending_since = waiting_;
  }
  void requested(base::Clock::Time now) {
    const std::lock_guard lock(mutex_);
    if (!waiting_) waiting_ = now;
    if (!value_.pending_since) value_.pending_since = now;
  }
  // A run takes on everything requested so far; updated() will be about no more than that.
  void taken(base::Clock::Time now) {
    const std::lock_guard lock(mutex_);
    if (!taken_) taken_ = waiting_.value_or(now);
    waiting_.reset();
    value_.pending_since = taken_;
  }
  // In place of updated(): the run left some of what it had taken on for the next one.
  void updated_partly() {
    const std::lock_guard lock(mutex_);
    if (taken_) waiting_ = std::exchange(taken_, {});
    value_.pending_since = waiting_;
  }
  FreshnessValue value() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<base::Clock::Time> waiting_;  // requested since the last run took what there was
  std::optional<base::Clock::Time> taken_;    // of what runs, or ran and failed
  FreshnessValue value_;
};

}  // namespace sluice::sync
