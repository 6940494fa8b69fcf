// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Time as a parameter, so that scheduling is tested without waiting.
#pragma once

#include <chrono>

namespace sluice::lib {

class Clock {
 public:
  using Duration = std::chrono::nanoseconds;
  using Time = std::chrono::time_point<std::chrono::steady_clock, Duration>;
  virtual ~Clock() = default;
  virtual Time now() const = 0;  // monotonic; any thread
};

class SteadyClock final : public Clock {
 public:
  Time now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace sluice::lib
