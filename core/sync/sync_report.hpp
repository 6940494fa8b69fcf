// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One sync attempt in one address family, for metrics.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

namespace sluice::sync {

struct SyncReport {
  bool full = false;
  bool ok = false;
  double seconds = 0;         // the whole attempt
  double select_seconds = 0;  // until the transaction was built
  double apply_seconds = 0;   // in the backend; 0 if there was nothing to send
  double kernel_seconds = 0;  // the part of apply_seconds spent in the kernel; 0 if the backend does not measure it
  std::chrono::system_clock::time_point at;  // the end of the attempt
  // The trigger times of the changes that are now in the kernel. Empty unless ok.
  std::vector<std::chrono::system_clock::time_point> trigger_times;
  // From the first change until the attempt began. Empty if no change caused it, or there was nothing to send.
  std::optional<double> waited_seconds{};
  double interval_seconds = 0;  // the minimum time until the next attempt
};

}  // namespace sluice::sync
