// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/resync_throttle.hpp"

#include <algorithm>
#include <chrono>

#include "sluice/sdk/views.hpp"

namespace sluice::nftables {
namespace {

// Repairs take at most a twentieth of one CPU, however often other processes change the table.
constexpr std::uint64_t kPauseFactor = 20;
// Upper limit of the pause: drift does not last longer.
constexpr std::uint64_t kMaxPause = 60'000'000'000;

}  // namespace

void ResyncThrottle::request(const std::string& sentence) {
  {
    const lib::Lock lock(mutex_);
    pending_ = sentence;
    const std::uint64_t round = round_;
    const std::uint64_t now = host_.now();
    const auto left = std::chrono::nanoseconds(now < pause_end_ ? pause_end_ - now : 0);
    const auto until = std::chrono::steady_clock::now() + left;
    while (!stopped_ && round_ == round && changed_.wait_until(mutex_, until)) {
    }
    if (stopped_ || round_ != round) return;
  }
  host_.request_resync(sdk::view(sentence));
}

bool ResyncThrottle::begin() {
  const lib::Lock lock(mutex_);
  const bool any = pending_.has_value();
  pending_.reset();
  ++round_;
  changed_.notify_all();
  return any;
}

void ResyncThrottle::pause_after(std::uint64_t time) {
  const lib::Lock lock(mutex_);
  pause_end_ = host_.now() + std::min(kPauseFactor * time, kMaxPause);
}

std::optional<std::string> ResyncThrottle::pending() {
  const lib::Lock lock(mutex_);
  if (host_.now() < pause_end_) return std::nullopt;
  return pending_;
}

void ResyncThrottle::stop() {
  const lib::Lock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace sluice::nftables
