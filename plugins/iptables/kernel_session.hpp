// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Writes to the kernel with book-keeping: how much was written, and whether anybody
// else has written since. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "plugins/common/netfilter/restore.hpp"
#include "plugins/iptables/kernel.hpp"
#include "plugins/iptables/observe.hpp"

namespace sluice::iptables {

class KernelSession {
 public:
  // `kernel` outlives the session.
  explicit KernelSession(Kernel& kernel) noexcept : kernel_(kernel) {}

  Kernel& kernel() noexcept { return kernel_; }

  // One look at the kernel, with the generation it has.
  Observed observe();

  // Writes `input`; nothing when it is empty. Throws sdk::Failure.
  void send(const netfilter::RestoreInput& input);

  // No transaction but ours was committed since the last observe(), or since accept().
  // False as well when the kernel does not tell.
  bool untouched();
  // What observe() showed just now was good.
  void accept() noexcept { known_ = looked_; }

  // Lines sent since reset_counters().
  std::size_t lines(Table table) const noexcept { return lines_[static_cast<std::size_t>(table)]; }
  std::size_t lines() const noexcept { return lines_[0] + lines_[1] + lines_[2]; }
  void reset_counters() noexcept { lines_ = {}; }

 private:
  Kernel& kernel_;
  std::optional<std::uint32_t> looked_;  // generation at the last observe()
  std::optional<std::uint32_t> known_;   // generation that holds just what we wrote or saw
  std::array<std::size_t, netfilter::kTables> lines_{};
};

}  // namespace sluice::iptables
