// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Looks at the parts of the kernel one after the other and says in one sentence what is damaged. A
// look that costs is rested after, so that watching takes a twentieth of one processor at most. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::ipvs {

class DamageWatch {
 public:
  using Look = std::function<std::optional<std::string>()>;
  using Now = std::function<std::uint64_t()>;  // nanoseconds

  explicit DamageWatch(Now now) : now_(std::move(now)) {}
  // `waited`: how long the look has waited for its turn so far, which is not rested after; null: it never waits.
  void add(Look look, Now waited = {}) { parts_.push_back({std::move(look), std::move(waited), 0}); }

  // All parts are looked at, even where one of them cannot be read: that throws only when no damage was found
  // elsewhere. Empty when all is as written.
  std::optional<std::string> find();
  // Everything was just written: nothing is being rested from.
  void written();

 private:
  struct Part {
    Look look;
    Now waited;
    std::uint64_t next;  // not before
  };
  Now now_;
  std::vector<Part> parts_;
};

}  // namespace sluice::ipvs
