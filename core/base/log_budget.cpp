// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/log_budget.hpp"

#include <algorithm>
#include <utility>

namespace sluice::base {

LogBudget::LogBudget() {
  static const lib::SteadyClock clock;
  clock_ = &clock;
}

void LogBudget::log(const LogMessage& message, std::string text, std::initializer_list<LogField> fields,
                    LogCaller caller) {
  const auto now = clock_->now();
  full_at_ = std::max(full_at_, now);
  if (full_at_ - now > (kBurst - 1) * kPause) {
    ++unwritten_;
    return;
  }
  full_at_ += kPause;
  if (text.size() > kLongestLine) text.replace(kLongestLine, std::string::npos, "...");
  const auto unwritten = std::exchange(unwritten_, 0);
  if (unwritten != 0) text += " (" + std::to_string(unwritten) + " similar lines before this one were suppressed)";
  base::log(message, text, fields, caller);
}

}  // namespace sluice::base
