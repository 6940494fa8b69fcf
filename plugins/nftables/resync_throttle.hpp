// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Requests a resync when another process has changed the table, at a limited rate, so that repairs do not use all CPU
// time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/mutex.hpp"
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
  lib::Mutex mutex_;
  lib::ConditionVariable changed_;
  std::uint64_t round_ SLUICE_GUARDED_BY(mutex_) = 0;      // number of begin() calls
  std::uint64_t pause_end_ SLUICE_GUARDED_BY(mutex_) = 0;  // end of the pause
  bool stopped_ SLUICE_GUARDED_BY(mutex_) = false;
  std::optional<std::string> pending_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::nftables
