// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/foreign_changes.hpp"

#include <chrono>

namespace sluice::netfilter {
namespace {

constexpr std::chrono::seconds kLockTimeout(3);

}  // namespace

void ForeignChanges::note(std::optional<std::uint32_t> now) {
  if (now != generation_) ++count_;
  generation_ = now;
}

std::optional<std::uint64_t> ForeignChanges::count(const Read& read) {
  if (!read()) return std::nullopt;
  const lib::Lock lock(mutex_);
  // Read under the lock: another writer of this process may have counted its transactions meanwhile.
  note(read());
  return count_;
}

ForeignChanges::Written ForeignChanges::write(const Read& read, std::size_t commits,
                                              const std::function<bool()>& restore) {
  if (!read()) {
    restore();
    return {};
  }
  if (!mutex_.try_lock_for(kLockTimeout)) {
    restore();  // counted as a foreign change, so all families read their rules back
    return {};
  }
  const lib::Lock lock(mutex_, std::adopt_lock);
  note(read());
  const std::uint64_t before = count_;
  const bool done = restore();
  const auto after = read();
  if (!after || !generation_) {
    note(after);
    return {before, std::nullopt};
  }
  const std::uint32_t grown = *after - *generation_;
  const bool only_ours = done ? grown == commits : grown <= commits;
  if (only_ours) generation_ = after;
  note(after);
  return {before, grown};
}

}  // namespace sluice::netfilter
