// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// When to run (BEH 4). Pure bookkeeping over a clock; the caller sleeps and works.
//
// - Requests while one waits are merged. The first one is due at once.
// - `min` passes from the end of one run to the start of the next. An early request does not wait for that if the last
//   run succeeded, and none within the last `min` was early. An early run does not put off the one after it.
// - After a run the next one is due `max` later at the latest, asked for or not.
// - A failed run is repeated after `retry`; a request may make it sooner, never before
//   `min`. A successful one cancels the retry.
// - Nothing runs before the first request.
#pragma once

#include <optional>

#include "core/base/clock.hpp"

namespace sluice::sync {

struct RunnerIntervals {
  base::Clock::Duration min{std::chrono::seconds(1)};
  base::Clock::Duration retry{std::chrono::seconds(30)};
  base::Clock::Duration max{std::chrono::hours(1)};
};

enum class RunOutcome {
  done,
  nothing,     // there was nothing to do; an early run may follow at once
  failed,      // again after `retry`
  retry_soon,  // a passing hindrance such as a lock: again after `min`, at least 500 ms
};

class BoundedRunner {
 public:
  // REQUIRES: intervals.max >= intervals.min
  BoundedRunner(RunnerIntervals intervals, const base::Clock& clock) : intervals_(intervals), clock_(clock) {}

  void request() { requested_ = true; }
  void request_early() { requested_ = early_requested_ = true; }
  // Due now, whatever ran before and however that ended.
  void request_at_once();
  // As if they had been in force since the last run.
  void set_intervals(RunnerIntervals intervals) { intervals_ = intervals; }
  // Time::max() while nothing has ever been requested.
  base::Clock::Time next_run() const;
  bool due() const;
  // Whether the run that is due was asked for, rather than only the maximum interval.
  bool requested() const { return requested_; }
  void started();
  // Whether the run that started last does not count for the minimum interval.
  bool runs_early() const { return runs_early_; }
  void finished(RunOutcome outcome);

 private:
  RunnerIntervals intervals_;
  const base::Clock& clock_;
  bool requested_ = false;
  bool early_requested_ = false;
  bool runs_early_ = false;
  std::optional<base::Clock::Time> last_early_end_;
  std::optional<base::Clock::Time> last_end_;
  RunOutcome last_outcome_ = RunOutcome::done;
};

}  // namespace sluice::sync
