// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// When to try again what was left out: after a minute, then after twice as long each
// time, at most an hour; from the beginning when something else is left out. Pure.
#pragma once

#include <algorithm>
#include <chrono>

#include "core/base/clock.hpp"

namespace sluice::sync {

class RetryClock {
 public:
  using Time = base::Clock::Time;
  using Duration = base::Clock::Duration;

  RetryClock() = default;
  explicit RetryClock(Duration first) noexcept : first_(first), pause_(first) {}

  // What is left out was tried at `now`; `others` than before.
  void set(bool any, bool others, Time now) noexcept {
    if (!any || others) pause_ = first_;
    at_ = any ? now + pause_ : Time::max();
  }
  // When due() will say yes; Time::max() when nothing is left out.
  Time at() const noexcept { return at_; }
  // Whether it is time; once for each time.
  bool due(Time now) noexcept {
    if (now < at_ || at_ == Time::max()) return false;
    pause_ = std::min<Duration>(2 * pause_, kLongest);
    at_ = now + pause_;
    return true;
  }

 private:
  static constexpr Duration kLongest = std::chrono::hours(1);

  Duration first_ = std::chrono::minutes(1);
  Duration pause_ = first_;
  Time at_ = Time::max();
};

}  // namespace sluice::sync
