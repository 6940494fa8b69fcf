// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The parts of the daemon in the order in which they start. They stop in reverse.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "lib/status.hpp"

namespace sluice::daemon {

class StartList {
 public:
  struct Part {
    std::function<lib::Status()> start;  // empty: the part starts with a later one
    std::function<void()> stop;          // empty: nothing to stop; must work without a start, and twice
  };

  explicit StartList(std::vector<Part> parts) : parts_(std::move(parts)) {}

  // Returns the first failure, after which nothing else starts.
  lib::Status start() const {
    for (const Part& part : parts_) {
      if (!part.start) continue;
      if (auto status = part.start(); !status.ok()) return status;
    }
    return {};
  }
  // Also stops parts that have not started.
  void stop() const {
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
      if (part->stop) part->stop();
    }
  }

 private:
  const std::vector<Part> parts_;
};

}  // namespace sluice::daemon
