// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One attempt to bring a family's kernel state up to date, for figures.
#pragma once

#include <chrono>
#include <vector>

namespace sluice::sync {

struct SyncReport {
  bool full = false;
  bool ok = false;
  double seconds = 0;                        // all of it
  double select_seconds = 0;                 // until there was a transaction
  double apply_seconds = 0;                  // in the backend; 0 when there was nothing to send
  double kernel_seconds = 0;                 // of this, waiting for the kernel; 0 when the backend did not measure it
  std::chrono::system_clock::time_point at;  // its end
  // When what the kernel has now was caused. Empty unless ok.
  std::vector<std::chrono::system_clock::time_point> trigger_times;
};

}  // namespace sluice::sync
