// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/sync_pace.hpp"

#include <algorithm>

namespace sluice::sync {
namespace {

// The weight of a run in the moving average is one in kWeight. One run counts at most kOutlier times the average: after
// a full sync the next changes hardly wait, and a cost that stays high is the average after a few runs.
constexpr int kWeight = 4;
constexpr int kOutlier = 8;

}  // namespace

void SyncPace::ran(lib::Clock::Time begin, lib::Clock::Time end, Duration cost) {
  const Duration counted = std::clamp(cost, Duration::zero(), kOutlier * std::max(average_, kCheap));
  average_ += (counted - average_) / kWeight;
  gap_ = std::clamp(kOneIn * average_, kShortest, kLongest);
  // The duration of the run itself is no pause.
  const Duration owed = std::max(paid_at_ - begin, Duration::zero());
  paid_at_ = end + owed + gap_;
}

}  // namespace sluice::sync
