// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>

#include "lib/clock.hpp"

namespace sluice::test {

// A clock that only advance() moves. Any thread.
class FakeClock final : public lib::Clock {
 public:
  Time now() const override { return Time(Duration(now_.load())); }
  void advance(Duration by) { now_ += by.count(); }

 private:
  std::atomic<Duration::rep> now_{1000};
};

}  // namespace sluice::test
