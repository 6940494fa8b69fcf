// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Decides when to run (BEH 4). It only computes instants; the caller sleeps and runs.
//
// - Requests that wait for the same run are merged. The first request is due at once.
// - At least `min` passes from the end of one run to the start of the next. An early request does not wait if the last
//   run succeeded and no run within the last `min` was early. An early run does not delay the next run.
// - Without `min`, SyncPace bounds the processor time of runs, including early ones. The pause is at most one second and
//   at most `retry`; after a failure it is that long. If the pause is noticeable, an early request does not wait after
//   a run that succeeded and was not early.
// - The next run is due at most `max` after a run, even without a request.
// - A failed run is retried after `retry`, or earlier on request, but not before `min`. A successful run cancels the
//   retry.
// - Nothing runs before the first request.
#pragma once

#include <optional>

#include "core/sync/sync_pace.hpp"
#include "lib/clock.hpp"

namespace sluice::sync {

struct RunnerIntervals {
  std::optional<lib::Clock::Duration> min{std::chrono::seconds(1)};  // empty: SyncPace
  lib::Clock::Duration retry{std::chrono::seconds(30)};
  lib::Clock::Duration max{std::chrono::hours(1)};
};

enum class RunOutcome {
  done,
  nothing,     // there was nothing to do; an early run may follow at once
  not_ready,   // nothing could be taken yet; before the first other run it does not count
  failed,      // retry after `retry`
  retry_soon,  // a temporary failure, such as a held lock: retry after `min`, at least 500 ms
  cancelled,   // no failure, but as retry_soon
};

class BoundedRunner {
 public:
  // REQUIRES: intervals.max >= intervals.min
  BoundedRunner(RunnerIntervals intervals, const lib::Clock& clock) : intervals_(intervals), clock_(clock) {}

  void request() { requested_ = true; }
  void request_early() { requested_ = early_requested_ = true; }
  // Makes a run due now, regardless of earlier runs.
  void request_at_once();
  // The new intervals count from the end of the last run. Earlier runs count for SyncPace, too.
  void set_intervals(RunnerIntervals intervals) { intervals_ = intervals; }
  // Time::max() before the first request.
  lib::Clock::Time next_run() const;
  bool due() const;
  // Whether the run was requested, rather than due because of the maximum interval.
  bool requested() const { return requested_; }
  void started();
  // Whether the last started run is early, so that it does not count for the minimum interval.
  bool runs_early() const { return runs_early_; }
  // `cost`: processor time of the run.
  void finished(RunOutcome outcome, lib::Clock::Duration cost = {});
  // The time between two runs at present.
  lib::Clock::Duration interval() const;

 private:
  bool succeeded() const;  // the last run
  // REQUIRES: last_end_
  lib::Clock::Time earliest() const;
  lib::Clock::Time earliest_of_early() const;

  RunnerIntervals intervals_;
  const lib::Clock& clock_;
  SyncPace pace_;
  bool requested_ = false;
  bool early_requested_ = false;
  bool runs_early_ = false;
  lib::Clock::Time started_at_{};
  std::optional<lib::Clock::Time> last_early_end_;
  std::optional<lib::Clock::Time> last_end_;
  RunOutcome last_outcome_ = RunOutcome::done;
};

}  // namespace sluice::sync
