// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/bounded_runner.hpp"

#include <algorithm>

namespace sluice::sync {
namespace {

// A lock that another process holds is not polled faster, even if `min` is shorter.
constexpr lib::Clock::Duration kShortestRetry = std::chrono::milliseconds(500);
// Without `min`, a shorter pause is not worth a run of its own.
constexpr lib::Clock::Duration kNoticeable = std::chrono::milliseconds(100);

}  // namespace

void BoundedRunner::request_at_once() {
  requested_ = true;
  last_end_.reset();
}

lib::Clock::Duration BoundedRunner::interval() const {
  return intervals_.min ? *intervals_.min : std::min(pace_.gap(), intervals_.retry);
}

bool BoundedRunner::succeeded() const {
  return last_outcome_ == RunOutcome::done || last_outcome_ == RunOutcome::nothing;
}

// The cost of a failed run does not say how soon another one may succeed.
lib::Clock::Time BoundedRunner::earliest() const {
  if (intervals_.min) return *last_end_ + *intervals_.min;
  const auto latest = *last_end_ + std::min(SyncPace::kLongest, intervals_.retry);
  return succeeded() ? std::clamp(pace_.earliest(), *last_end_, latest) : latest;
}

lib::Clock::Time BoundedRunner::earliest_of_early() const {
  if (intervals_.min) return last_early_end_ ? *last_early_end_ + *intervals_.min : *last_end_;
  const bool last_was_early = last_early_end_ && *last_early_end_ >= *last_end_;
  return last_was_early || interval() < kNoticeable ? earliest() : *last_end_;
}

lib::Clock::Time BoundedRunner::next_run() const {
  if (!last_end_) return requested_ ? clock_.now() : lib::Clock::Time::max();
  const auto earliest = this->earliest();
  if (requested_ && early_requested_ && succeeded()) return std::clamp(earliest_of_early(), *last_end_, earliest);
  if (requested_) return earliest;
  auto next = *last_end_ + intervals_.max;
  switch (last_outcome_) {
    case RunOutcome::done:
    case RunOutcome::nothing:
    case RunOutcome::not_ready:
      break;
    case RunOutcome::failed: next = std::min(next, *last_end_ + intervals_.retry); break;
    case RunOutcome::retry_soon:
    case RunOutcome::cancelled:
      next = std::min(next, *last_end_ + std::max(interval(), kShortestRetry));
      break;
  }
  return std::max(next, earliest);
}

bool BoundedRunner::due() const {
  // next_run() may return the current time. Read the clock after it: in one expression the order is unspecified.
  const auto next = next_run();
  return clock_.now() >= next;
}

void BoundedRunner::started() {
  requested_ = early_requested_ = false;
  started_at_ = clock_.now();
  runs_early_ = last_end_ && started_at_ < earliest();
}

void BoundedRunner::finished(RunOutcome outcome, lib::Clock::Duration cost) {
  if (outcome == RunOutcome::not_ready) {
    if (!last_end_) return;
    outcome = RunOutcome::done;
  }
  const auto now = clock_.now();
  pace_.ran(started_at_, now, cost);
  if (runs_early_ && outcome == RunOutcome::done) last_early_end_ = now;
  last_outcome_ = outcome;
  if (!runs_early_ || !succeeded()) last_end_ = now;
}

}  // namespace sluice::sync
