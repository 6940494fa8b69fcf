// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// When to retry service ports that were not programmed: after a minute, then with exponential backoff up to an hour.
// The backoff restarts when the set of failed service ports changes.
#pragma once

#include <algorithm>
#include <chrono>

#include "lib/clock.hpp"

namespace sluice::sync {

class RetryClock {
 public:
  using Time = lib::Clock::Time;
  using Duration = lib::Clock::Duration;

  RetryClock() = default;
  explicit RetryClock(Duration first) noexcept : first_(first), delay_(first) {}

  // An attempt ended at `now`. `any`: service ports failed; `has_new`: some of them did not fail before.
  void set(bool any, bool has_new, Time now) noexcept {
    if (!any || has_new) delay_ = first_;
    at_ = any ? now + delay_ : Time::max();
  }
  // The time of the next retry; Time::max() if there is nothing to retry.
  Time at() const noexcept { return at_; }
  // Whether a retry is due. Returns true once for each retry.
  bool due(Time now) noexcept {
    if (now < at_ || at_ == Time::max()) return false;
    delay_ = std::min<Duration>(2 * delay_, kMaximum);
    at_ = now + delay_;
    return true;
  }

 private:
  static constexpr Duration kMaximum = std::chrono::hours(1);

  Duration first_ = std::chrono::minutes(1);
  Duration delay_ = first_;
  Time at_ = Time::max();
};

}  // namespace sluice::sync
