// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/kernel_session.hpp"

namespace sluice::iptables {

Observed KernelSession::observe() {
  looked_ = kernel_.generation();  // before: what comes in between shows up as a change
  return iptables::observe(kernel_);
}

void KernelSession::send(const netfilter::RestoreInput& input) {
  if (input.empty()) return;
  const auto before = kernel_.generation();
  const process::Outcome outcome = kernel_.restore(input.text());
  if (!outcome.ok()) {
    known_.reset();
    throw_failure(kernel_.tools().restore, outcome, &input);
  }
  for (std::size_t i = 0; i < lines_.size(); ++i) lines_[i] += input.lines(static_cast<Table>(i));
  // One transaction per table. If the number has grown by more, somebody else was at
  // work at the same time and has to be looked at.
  const auto after = kernel_.generation();
  const bool alone = known_ && before == known_ && after == *known_ + static_cast<std::uint32_t>(input.commits());
  known_ = alone ? after : std::nullopt;
}

bool KernelSession::untouched() {
  if (!known_) return false;
  const auto now = kernel_.generation();
  return now && now == known_;
}

}  // namespace sluice::iptables
