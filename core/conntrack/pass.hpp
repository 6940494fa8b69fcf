// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One reconciling of the kernel's table with the state: finds what is stale and removes
// it, batch by batch, so that memory does not follow the size of the table.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/conntrack/former.hpp"
#include "core/conntrack/late_replies.hpp"
#include "core/conntrack/state.hpp"
#include "core/conntrack/table.hpp"

namespace sluice::conntrack {

// BEH 9.1: a table that changes under the visit is visited so many times.
inline constexpr int kConntrackAttempts = 5;

struct ConntrackPass {
  std::uint64_t seen = 0;
  std::uint64_t deleted = 0;
  bool partial = false;  // every attempt was interrupted: flows may have been passed over
};

// Any thread, one at a time for a table. Ends early, with what it did, once `stop` is set. `former`: nobody serves but
// the present backend, where it is null. `late`: records untranslated entries that are removed, with the time `now`;
// entries that late replies to them created are removed, too. May be null.
base::Result<ConntrackPass> reconcile_conntrack(base::Family family, const ConntrackState& state,
                                                const ConntrackWork& work, ConntrackTable& table,
                                                const std::atomic<bool>& stop, FormerBackend* former = nullptr,
                                                LateReplies* late = nullptr, base::Clock::Time now = {});

}  // namespace sluice::conntrack
