// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The service ports that a backend could not program as of its last apply, with reasons, and the time of their next
// retry. A service port that is programmed or removed later is erased. One thread.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/plugin/host_services.hpp"
#include "core/snapshot/transaction.hpp"
#include "core/sync/retry_clock.hpp"

namespace sluice::sync {

// Adds to the rejected service ports those of which the core withheld a part from the backend.
void add_withheld(const snapshot::Transaction& transaction, plugin::ServicePortReports& reports);

class NotProgrammed {
 public:
  NotProgrammed() = default;
  explicit NotProgrammed(RetryClock clock) : clock_(clock) {}

  // Call after a successful apply. A full transaction replaces all entries; a delta replaces those of its service
  // ports, and erases those that the backend reports as served.
  void note(const snapshot::Transaction& transaction, const plugin::ServicePortReports& reports,
            lib::Clock::Time now);
  // The time of the next retry; Time::max() if there are no entries.
  lib::Clock::Time next_retry() const { return clock_.at(); }
  // Whether a retry is due. Returns true once for each retry.
  bool retry_due(lib::Clock::Time now) { return clock_.due(now); }

  const std::map<plugin::ServicePortName, std::string>& reasons() const { return reasons_; }

 private:
  std::map<plugin::ServicePortName, std::string> reasons_;
  std::set<plugin::ServicePortName> withheld_;  // the subset of reasons_ that the backend did not reject
  RetryClock clock_;
};

}  // namespace sluice::sync
