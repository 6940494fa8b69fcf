// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Writes to the kernel and records how much was written, how long it waited for the lock,
// and whether another process has written since. Reading and writing throw sdk::Failure (kRetry)
// if Kernel::deadline() is cancelled. Not thread-safe.
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

// A restore that was rejected because of its content.
struct Refusal {
  sdk::Failure why;
  // The line that the error message names. Unreliable: some messages name the next line or
  // the COMMIT.
  std::optional<RestoreInput::Line> line;
  // How many COMMITs succeeded before; empty if unknown.
  std::optional<std::size_t> committed;
  // No other process had written before, so the recorded state of the kernel was true.
  bool alone;
};
// The error message, with the line if one is named.
std::string sentence(const Refusal& refusal);

class KernelSession {
 public:
  // `kernel` outlives the session.
  explicit KernelSession(Kernel& kernel) noexcept : kernel_(kernel) {}

  Kernel& kernel() noexcept { return kernel_; }

  // Lists all rules of the kernel into `reader` and records the count of foreign changes for
  // accept(). Throws sdk::Failure if the tool fails or its output is truncated.
  void list(SaveReader& reader);
  // The same without recording, so accept() still refers to the last list(). `counters`: of packets and bytes, too.
  void read(SaveReader& reader, bool counters = false);

  // Writes `input` unless it is empty. Returns empty on success. Throws sdk::Failure if
  // `input` is not the cause of the failure.
  std::optional<Refusal> try_send(const RestoreInput& input);
  // The same, but every refusal throws.
  void send(const RestoreInput& input);

  // Whether no other process has committed anything since the last accepted list(). False if
  // the kernel does not report its generation.
  bool untouched();
  // The rules of the last list() are as they should be.
  void accept() noexcept { accepted_ = listed_; }

  // Since reset_counters(): lines sent, the longest and the total wait for the lock, and the
  // time spent in the tools, including these waits.
  std::size_t lines(Table table) const noexcept { return lines_[static_cast<std::size_t>(table)]; }
  std::size_t lines() const noexcept { return lines_[0] + lines_[1] + lines_[2]; }
  std::chrono::milliseconds longest_lock_wait() const noexcept { return longest_wait_; }
  std::chrono::milliseconds lock_wait() const noexcept { return lock_wait_; }
  std::chrono::nanoseconds tool_time() const noexcept { return tool_time_; }
  void reset_counters() noexcept;

 private:
  std::optional<std::uint64_t> foreign_changes();

  Kernel& kernel_;
  // Counts of foreign changes.
  std::optional<std::uint64_t> listed_;    // at the last list()
  std::optional<std::uint64_t> accepted_;  // as long as it is current, the kernel holds what was written or accepted
  std::array<std::size_t, kTables> lines_{};
  std::chrono::milliseconds lock_wait_{0};
  std::chrono::milliseconds longest_wait_{0};
  std::chrono::nanoseconds tool_time_{0};
};

}  // namespace sluice::netfilter
