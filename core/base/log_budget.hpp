// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Log lines about objects that users of the cluster write: as many as such a user likes to cause. kBurst of them are written at once,
// then one in each kPause; the line after others that were not written says how many those were. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/clock.hpp"
#include "core/base/log.hpp"

namespace sluice::base {

class LogBudget {
 public:
  static constexpr int kBurst = 100;
  static constexpr Clock::Duration kPause = std::chrono::seconds(10);
  static constexpr std::size_t kLongestLine = 1024;  // bytes; of a longer one the rest is cut off

  // Without a clock: the system's. The clock outlives this.
  LogBudget();
  explicit LogBudget(const Clock& clock) : clock_(&clock) {}

  void log(LogLevel level, std::string_view component, std::string text);

 private:
  const Clock* clock_;
  Clock::Time full_at_{};  // when kBurst lines may be written at once again
  std::uint64_t unwritten_ = 0;
};

}  // namespace sluice::base
