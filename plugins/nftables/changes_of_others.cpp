// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/changes_of_others.hpp"

#include <algorithm>
#include <chrono>

#include "sluice/sdk/views.hpp"

namespace sluice::nftables {
namespace {

// At most a twentieth of one processor, however often others change our table.
constexpr std::uint64_t kRest = 20;
// But damage does not stay longer than this.
constexpr std::uint64_t kLongestRest = 60'000'000'000;

}  // namespace

void ChangesOfOthers::note(const std::string& sentence) {
  {
    std::unique_lock lock(mutex_);
    noted_ = sentence;
    const std::uint64_t round = round_;
    const std::uint64_t now = host_.now();
    const auto left = std::chrono::nanoseconds(now < next_ ? next_ - now : 0);
    changed_.wait_for(lock, left, [&] { return stopped_ || round_ != round; });
    if (stopped_ || round_ != round) return;
  }
  host_.request_resync(sdk::view(sentence));
}

bool ChangesOfOthers::begin() {
  const std::lock_guard lock(mutex_);
  const bool any = noted_.has_value();
  noted_.reset();
  ++round_;
  changed_.notify_all();
  return any;
}

void ChangesOfOthers::rest_after(std::uint64_t time) {
  const std::lock_guard lock(mutex_);
  next_ = host_.now() + std::min(kRest * time, kLongestRest);
}

std::optional<std::string> ChangesOfOthers::noted() {
  const std::lock_guard lock(mutex_);
  if (host_.now() < next_) return std::nullopt;
  return noted_;
}

void ChangesOfOthers::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace sluice::nftables
