// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The two steps in which rules retire (abi::Backend::retire): first what leads new connections in, and the rest when the
// packets that were on their way at that moment have left the node. One that was translated and marked, but not
// masqueraded yet, would leave with an address that nobody answers to. Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace sluice::netfilter {

class Retirement {
 public:
  // Nanoseconds; a packet is on its way through the node for microseconds, one in the queue of a program somewhat longer.
  static constexpr std::uint64_t kRest = 200ull * 1000 * 1000;

  enum class Step {
    kClose,   // the way in; then closed()
    kWait,    // answer kRetry
    kRemove,  // everything else; and the way in, where that was not closed before
  };
  Step next(std::uint32_t drain_seconds, std::uint64_t now) const noexcept {
    if (drain_seconds == 0) return Step::kRemove;
    if (!closed_) return Step::kClose;
    return now < *closed_ + kRest ? Step::kWait : Step::kRemove;
  }
  void closed(std::uint64_t now) noexcept { closed_ = now; }
  // Somebody serves with these rules again, or they are gone.
  void forget() noexcept { closed_.reset(); }

 private:
  std::optional<std::uint64_t> closed_;
};

}  // namespace sluice::netfilter
