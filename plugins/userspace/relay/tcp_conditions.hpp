// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Shortages that hamper the TCP relays of this process. Counts the affected threads; the first and
// the last one cause a report.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lib/mutex.hpp"

namespace sluice::userspace {

enum class TcpShortage : std::uint8_t {
  kDescriptors,
  kMemory,
  kPorts,
  kLimit,  // max_connections
  kWatch,  // a listening socket cannot be watched
};
inline constexpr std::size_t kTcpShortages = 5;

// Any thread.
class TcpConditions {
 public:
  using Report = std::function<void(bool begins, const std::string& sentence)>;

  std::uint64_t add_report(Report report);
  // No call is in progress when this returns.
  void remove_report(std::uint64_t id);

  // Called by each affected thread; every begins() is followed by an ends(). Throw nothing.
  void begins(TcpShortage shortage, int error) noexcept;
  void ends(TcpShortage shortage) noexcept;

 private:
  void report(bool begins, const char* sentence, int error) noexcept SLUICE_REQUIRES(mutex_);

  lib::Mutex mutex_;
  std::uint64_t last_id_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::vector<std::pair<std::uint64_t, Report>> reports_ SLUICE_GUARDED_BY(mutex_);
  std::array<unsigned, kTcpShortages> threads_ SLUICE_GUARDED_BY(mutex_){};
};

}  // namespace sluice::userspace
