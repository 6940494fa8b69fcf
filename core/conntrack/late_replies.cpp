// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conntrack/late_replies.hpp"

#include <array>
#include <chrono>

namespace sluice::conntrack {
namespace {

// Most replies arrive within milliseconds, those of a busy machine within seconds.
constexpr std::array<std::chrono::milliseconds, 4> kDelays{std::chrono::milliseconds(300), std::chrono::seconds(1),
                                                           std::chrono::seconds(3), std::chrono::seconds(10)};

}  // namespace

void LateReplies::note(const Flow& flow, lib::Clock::Time now) {
  // A pending first scan is not postponed: otherwise a steady stream of removals would prevent all scans.
  if (removed_.empty() || scans_ > 0) {
    since_ = now;
    scans_ = 0;
  }
  if (removed_.size() < kMost) removed_.insert_or_assign(Pair{flow.source, flow.destination}, now);
}

bool LateReplies::created(const Flow& flow) const {
  return !removed_.empty() && !flow.translated() && removed_.contains({flow.destination, flow.source});
}

std::optional<lib::Clock::Time> LateReplies::next_scan() const {
  if (removed_.empty()) return std::nullopt;
  return since_ + kDelays[scans_];
}

void LateReplies::scanned(lib::Clock::Time begun) {
  while (scans_ < kDelays.size() && begun >= since_ + kDelays[scans_]) ++scans_;
  std::erase_if(removed_, [begun](const auto& one) { return begun - one.second >= kDelays.back(); });
  if (scans_ == kDelays.size()) removed_.clear();
  if (removed_.empty()) scans_ = 0;
}

}  // namespace sluice::conntrack
