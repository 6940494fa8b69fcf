// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The time between two runs if no minimum interval is configured. It follows the measured cost of runs:
//
// - Runs use at most 5 % of one processor, and there are at most 100 per second.
// - Two runs in a row need no pause, so that a lone change, or a Service and its EndpointSlice, never wait.
// - No pause is longer than one second, kube-proxy's default minimum interval, whatever a run costs.
//
// The bound is that of one sync loop; each address family has its own. Pure.
#pragma once

#include "lib/clock.hpp"

namespace sluice::sync {

class SyncPace {
 public:
  using Duration = lib::Clock::Duration;
  static constexpr Duration kShortest = std::chrono::milliseconds(10);
  static constexpr Duration kLongest = std::chrono::seconds(1);
  static constexpr int kOneIn = 20;  // the share of a processor

  // A run with this processor time has ended.
  void ran(lib::Clock::Time begin, lib::Clock::Time end, Duration cost);
  // The pause between two runs of average cost.
  Duration gap() const { return gap_; }
  // The earliest start of the next run.
  lib::Clock::Time earliest() const { return paid_at_ - gap_; }

 private:
  // A run of the shortest gap.
  static constexpr Duration kCheap = kShortest / kOneIn;

  Duration average_ = kCheap;
  Duration gap_ = kShortest;
  lib::Clock::Time paid_at_{};  // when enough time has passed for all runs
};

}  // namespace sluice::sync
