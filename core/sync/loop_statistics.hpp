// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The statistics of one sync loop for metrics: numbers only, so that a scrape is cheap.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace sluice::sync {

struct LoopStatistics {
  // Empty before the loop starts.
  std::optional<std::chrono::system_clock::time_point> last_queued;
  std::uint64_t failures = 0;
  std::uint64_t repairs = 0;
  std::uint64_t objects_owned = 0;
  std::uint64_t kernel_writes = 0;
  std::size_t not_programmed = 0;
  bool unwell = false;
};

}  // namespace sluice::sync
