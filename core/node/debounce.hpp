// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Merges events that are close together into one reaction. It is due after a quiet period, but at most `limit` after
// the first event. One thread.
#pragma once

#include <algorithm>
#include <chrono>

#include "lib/clock.hpp"

namespace sluice::node {

struct DebounceOptions {
  lib::Clock::Duration quiet = std::chrono::milliseconds(100);
  lib::Clock::Duration limit = std::chrono::seconds(1);
};

class Debounce {
 public:
  using Time = lib::Clock::Time;
  explicit Debounce(DebounceOptions options = {}) : options_(options) {}

  void event(Time now) {
    if (due_ == Time::max()) limit_ = now + options_.limit;
    due_ = std::min(now + options_.quiet, limit_);
  }
  // Due after `delay`, or earlier if an event arrives.
  void retry(Time now, lib::Clock::Duration delay) { due_ = limit_ = now + delay; }
  // When take() returns true; Time::max() if nothing is pending.
  Time due() const { return due_; }
  // Returns true once when the reaction is due.
  bool take(Time now) {
    if (now < due_) return false;
    due_ = Time::max();
    return true;
  }

 private:
  DebounceOptions options_;
  Time due_ = Time::max();
  Time limit_ = Time::max();
};

}  // namespace sluice::node
