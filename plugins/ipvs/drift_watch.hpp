// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Checks the parts of the kernel one after the other and describes drift in one sentence. After each check a part
// rests in proportion to its cost, so that checking takes at most a twentieth of one CPU. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::ipvs {

class DriftWatch {
 public:
  using Check = std::function<std::optional<std::string>()>;
  using Now = std::function<std::uint64_t()>;  // nanoseconds

  explicit DriftWatch(Now now) : now_(std::move(now)) {}
  // `waited`: total time the check has spent waiting for a lock, which is not counted as cost; null: it never waits.
  void add(Check check, Now waited = {}) { parts_.push_back({std::move(check), std::move(waited), 0}); }

  // Checks all parts, even if one cannot be read; throws that error only if no drift was found elsewhere. Empty: no
  // drift.
  std::optional<std::string> find();
  // Everything has just been written: all parts are due again.
  void written();

 private:
  struct Part {
    Check check;
    Now waited;
    std::uint64_t next;  // not before
  };
  Now now_;
  std::vector<Part> parts_;
};

}  // namespace sluice::ipvs
