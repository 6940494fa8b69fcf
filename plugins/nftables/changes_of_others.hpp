// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tells the daemon when somebody else has changed our table, but not so often that repairing it is all we do.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "sluice/abi/host.hpp"

namespace sluice::nftables {

class ChangesOfOthers {
 public:
  // `host` outlives this.
  explicit ChangesOfOthers(abi::Host& host) : host_(host) {}

  // [thread of the watch] Asks for a full transaction, after what is left of the rest. Returns at once when meanwhile
  // begin() or stop() is called.
  void note(const std::string& sentence);
  // [apply thread] The table is about to be compared: what was noted is seen to. Whether there was anything.
  bool begin();
  // [apply thread] That has been compared, which took `time` nanoseconds: rest twenty times as long, a minute at the most.
  void rest_after(std::uint64_t time);
  // [apply thread] What has been noted and not seen to.
  std::optional<std::string> noted();
  // Nothing is asked for any more.
  void stop();

 private:
  abi::Host& host_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t round_ = 0;           // under mutex_; of begin()
  std::uint64_t next_ = 0;            // under mutex_; when the rest is over
  bool stopped_ = false;              // under mutex_
  std::optional<std::string> noted_;  // under mutex_
};

}  // namespace sluice::nftables
