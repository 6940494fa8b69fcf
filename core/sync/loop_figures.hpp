// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The numbers of one family's sync loop, for scraping: no text, no lists.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace sluice::sync {

struct LoopFigures {
  // Nothing: the loop has not begun.
  std::optional<std::chrono::system_clock::time_point> last_queued;
  std::uint64_t failures = 0;
  std::uint64_t repairs = 0;
  std::uint64_t objects_owned = 0;
  std::uint64_t kernel_writes = 0;
  std::size_t left_out = 0;
  bool unwell = false;
};

}  // namespace sluice::sync
