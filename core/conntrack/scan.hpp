// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One scan of the conntrack table for stale entries. They are removed in batches, so that memory use does not depend on
// the size of the table.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "core/conntrack/late_replies.hpp"
#include "core/conntrack/old_backend_flows.hpp"
#include "core/conntrack/state.hpp"
#include "core/conntrack/table.hpp"

namespace sluice::conntrack {

// BEH 9.1: attempts to read a table that changes meanwhile.
inline constexpr int kConntrackAttempts = 5;

struct ConntrackScan {
  std::uint64_t scanned = 0;
  std::uint64_t deleted = 0;
  bool partial = false;  // every attempt was interrupted: the scan may have missed flows
  bool aborted = false;  // by UpdateState
};

// Called before flows are removed: brings the `state` of the scan up to date, after which they are judged again. False
// aborts the scan without their removal.
using UpdateState = std::function<bool()>;

// Any thread, one at a time for a table. Returns early once `stop` is set. `old_backend_flows`: null if only the active
// backend serves. `late`: records untranslated entries that are removed, with the time `now`; entries that late replies
// to them created are removed, too. May be null. `update_state` may be empty; then the state does not change meanwhile.
lib::Result<ConntrackScan> reconcile_conntrack(lib::Family family, const ConntrackState& state,
                                               const ConntrackWork& work, ConntrackTable& table,
                                               const std::atomic<bool>& stop,
                                               OldBackendFlows* old_backend_flows = nullptr,
                                               LateReplies* late = nullptr, lib::Clock::Time now = {},
                                               const UpdateState& update_state = {});

}  // namespace sluice::conntrack
