// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The two steps of removing rules (abi::Backend::retire): first the jumps for new connections, then the rest after the
// packets in flight have left the node. A packet that is translated and marked but not yet masqueraded would otherwise
// leave with its original source address and get no reply. Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace sluice::netfilter {

class Retirement {
 public:
  // Nanoseconds; packets need microseconds through the node, packets in a queue of a program somewhat longer.
  static constexpr std::uint64_t kRest = 200ull * 1000 * 1000;

  enum class Step {
    kClose,   // remove the jumps for new connections, then call closed()
    kWait,    // return kRetry
    kRemove,  // remove everything that is left, including these jumps
  };
  Step next(std::uint32_t drain_seconds, std::uint64_t now) const noexcept {
    if (drain_seconds == 0) return Step::kRemove;
    if (!closed_) return Step::kClose;
    return now < *closed_ + kRest ? Step::kWait : Step::kRemove;
  }
  void closed(std::uint64_t now) noexcept { closed_ = now; }
  // The rules are in use again, or they are gone.
  void forget() noexcept { closed_.reset(); }

 private:
  std::optional<std::uint64_t> closed_;
};

}  // namespace sluice::netfilter
