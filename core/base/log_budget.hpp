// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Limits log lines about objects that tenants write, because a tenant can cause any number of them. kBurst lines are
// written at once, then one in each kPause. The line after suppressed ones has their number. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/log.hpp"
#include "lib/clock.hpp"

namespace sluice::base {

class LogBudget {
 public:
  static constexpr int kBurst = 100;
  static constexpr lib::Clock::Duration kPause = std::chrono::seconds(10);
  static constexpr std::size_t kLongestLine = 1024;  // bytes; a longer line is truncated

  // Uses the system's steady clock.
  LogBudget();
  // The clock must outlive the budget.
  explicit LogBudget(const lib::Clock& clock) : clock_(&clock) {}

  void log(const LogMessage& message, std::string text, std::initializer_list<LogField> fields = {},
           LogCaller caller = LogCaller::here());

 private:
  const lib::Clock* clock_;
  lib::Clock::Time full_at_{};  // when kBurst lines may be written at once again
  std::uint64_t unwritten_ = 0;
};

}  // namespace sluice::base
