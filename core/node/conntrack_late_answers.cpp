// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/node/conntrack_late_answers.hpp"

#include <array>
#include <chrono>

namespace sluice::node {
namespace {

// After the removal: most answers are on their way for milliseconds, those of a busy machine for longer.
constexpr std::array<std::chrono::milliseconds, 4> kLooks{std::chrono::milliseconds(300), std::chrono::seconds(1),
                                                          std::chrono::seconds(3), std::chrono::seconds(10)};

}  // namespace

void LateAnswers::note(const Flow& flow, base::Clock::Time now) {
  since_ = now;
  looks_ = 0;
  if (clients_.size() < kMost) clients_.emplace(flow.source, flow.destination);
}

bool LateAnswers::began(const Flow& flow) const {
  return !clients_.empty() && !flow.translated() && clients_.contains({flow.destination, flow.source});
}

std::optional<base::Clock::Time> LateAnswers::due() const {
  if (clients_.empty()) return std::nullopt;
  return since_ + kLooks[looks_];
}

void LateAnswers::looked(base::Clock::Time begun) {
  while (!clients_.empty() && begun >= since_ + kLooks[looks_]) {
    if (++looks_ == kLooks.size()) clients_.clear();
  }
}

}  // namespace sluice::node
