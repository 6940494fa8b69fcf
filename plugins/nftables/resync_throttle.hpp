// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Requests a resync when another process has changed the table, at a limited rate, so that repairs do not use all CPU
// time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "sluice/abi/host.hpp"

namespace sluice::nftables {

class ResyncThrottle {
 public:
  // `host` outlives this.
  explicit ResyncThrottle(abi::Host& host) : host_(host) {}

  // [watch thread] Requests a full transaction after the remaining pause. Returns at once if begin() or stop() is
  // called meanwhile.
  void request(const std::string& sentence);
  // [apply thread] A full comparison starts: clears the pending change. Returns whether there was one.
  bool begin();
  // [apply thread] The comparison took `time` nanoseconds: pause twenty times as long, at most a minute.
  void pause_after(std::uint64_t time);
  // [apply thread] The pending change, once the pause is over.
  std::optional<std::string> pending();
  // No further requests.
  void stop();

 private:
  abi::Host& host_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t round_ = 0;             // under mutex_; number of begin() calls
  std::uint64_t pause_end_ = 0;         // under mutex_; end of the pause
  bool stopped_ = false;                // under mutex_
  std::optional<std::string> pending_;  // under mutex_
};

}  // namespace sluice::nftables
