// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/bounded_runner.hpp"

#include <algorithm>

namespace sluice::sync {
namespace {

// A lock that another process holds is not polled faster, even if `min` is shorter.
constexpr lib::Clock::Duration kShortestRetry = std::chrono::milliseconds(500);

}  // namespace

void BoundedRunner::request_at_once() {
  requested_ = true;
  last_end_.reset();
}

lib::Clock::Time BoundedRunner::next_run() const {
  if (!last_end_) return requested_ ? clock_.now() : lib::Clock::Time::max();
  const auto earliest = *last_end_ + intervals_.min;
  const bool succeeded = last_outcome_ == RunOutcome::done || last_outcome_ == RunOutcome::nothing;
  if (requested_ && early_requested_ && succeeded) {
    const auto free = last_early_end_ ? *last_early_end_ + intervals_.min : *last_end_;
    return std::clamp(free, *last_end_, earliest);
  }
  if (requested_) return earliest;
  auto next = *last_end_ + intervals_.max;
  switch (last_outcome_) {
    case RunOutcome::done:
    case RunOutcome::nothing:
      break;
    case RunOutcome::failed: next = std::min(next, *last_end_ + intervals_.retry); break;
    case RunOutcome::retry_soon:
      next = std::min(next, *last_end_ + std::max(intervals_.min, kShortestRetry));
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
  runs_early_ = last_end_ && clock_.now() < *last_end_ + intervals_.min;
}

void BoundedRunner::finished(RunOutcome outcome) {
  const auto now = clock_.now();
  if (runs_early_ && outcome == RunOutcome::done) last_early_end_ = now;
  if (!runs_early_ || outcome == RunOutcome::failed || outcome == RunOutcome::retry_soon) last_end_ = now;
  last_outcome_ = outcome;
}

}  // namespace sluice::sync
