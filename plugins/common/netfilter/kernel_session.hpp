// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Writes to the kernel with book-keeping: how much was written, how long the lock was
// waited for, and whether anybody else has written since. Not thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "plugins/common/netfilter/kernel.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "plugins/common/netfilter/save_reader.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::netfilter {

// A restore that was refused because of what it said.
struct Refusal {
  sdk::Failure why;
  // The line that is complained about. Not to be relied on: some complaints name the next
  // one, or the COMMIT.
  std::optional<RestoreInput::Line> line;
  // How many COMMITs had been carried out before; empty when that cannot be told.
  std::optional<std::size_t> committed;
  // Nobody but us had written before, so what we know of the kernel is true.
  bool alone;
};
// With the line, where one is named.
std::string sentence(const Refusal& refusal);

class KernelSession {
 public:
  // `kernel` outlives the session.
  explicit KernelSession(Kernel& kernel) noexcept : kernel_(kernel) {}

  Kernel& kernel() noexcept { return kernel_; }

  // One look at the kernel, with the generation it has: what it holds goes through `reader`.
  // Throws sdk::Failure when the tool fails or its output is cut off.
  void look(SaveReader& reader);
  // The same without the generation: what accept() means stays as it is.
  void read(SaveReader& reader);

  // Writes `input`; nothing when it is empty. Empty when it was taken. Throws sdk::Failure
  // when the reason is not in `input`.
  std::optional<Refusal> try_send(const RestoreInput& input);
  // The same where every refusal is a failure.
  void send(const RestoreInput& input);

  // Nobody but this process has committed anything since the last look() that was accepted.
  // False as well when the kernel does not tell.
  bool untouched();
  // What look() showed just now was good.
  void accept() noexcept { known_ = looked_; }

  // Since reset_counters(): lines sent, time spent waiting for the lock, at once and in all,
  // and for the tools, the lock included.
  std::size_t lines(Table table) const noexcept { return lines_[static_cast<std::size_t>(table)]; }
  std::size_t lines() const noexcept { return lines_[0] + lines_[1] + lines_[2]; }
  std::chrono::milliseconds longest_lock_wait() const noexcept { return longest_wait_; }
  std::chrono::milliseconds lock_wait() const noexcept { return lock_wait_; }
  std::chrono::nanoseconds tool_time() const noexcept { return tool_time_; }
  void reset_counters() noexcept;

 private:
  std::optional<std::uint64_t> changes_of_others();

  Kernel& kernel_;
  // Counts of foreign changes.
  std::optional<std::uint64_t> looked_;  // at the last look()
  std::optional<std::uint64_t> known_;   // with which the kernel holds just what we wrote or saw
  std::array<std::size_t, kTables> lines_{};
  std::chrono::milliseconds lock_wait_{0};
  std::chrono::milliseconds longest_wait_{0};
  std::chrono::nanoseconds tool_time_{0};
};

}  // namespace sluice::netfilter
