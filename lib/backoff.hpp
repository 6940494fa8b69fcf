// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Exponential backoff with jitter, so that the nodes of a cluster do not reconnect at the same time.
// Defaults (BEH 1.5): 800 ms, factor 2, limit 30 s, jitter up to 100 %, reset after 2 min without a retry.
// Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "lib/clock.hpp"

namespace sluice::lib {

struct BackoffOptions {
  std::chrono::milliseconds start{800};
  std::chrono::milliseconds limit{30000};
  std::chrono::milliseconds reset_after{120000};
};

class Backoff {
 public:
  // `random` returns numbers in [0, 1).
  Backoff(BackoffOptions options, const Clock& clock, std::function<double()> random)
      : options_(options), clock_(clock), random_(std::move(random)), base_(options.start) {}

  // The delay before the next attempt, between base and twice the base.
  std::chrono::milliseconds next() {
    const auto now = clock_.now();
    if (last_ && now - *last_ >= options_.reset_after) base_ = options_.start;
    last_ = now;
    const auto delay = base_ + std::chrono::milliseconds(static_cast<long>(
                                   static_cast<double>(base_.count()) * random_()));
    base_ = std::min(base_ * 2, options_.limit);
    return delay;
  }
  void reset() { base_ = options_.start; }

 private:
  BackoffOptions options_;
  const Clock& clock_;
  std::function<double()> random_;
  std::chrono::milliseconds base_;
  std::optional<Clock::Time> last_;
};

}  // namespace sluice::lib
