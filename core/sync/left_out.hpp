// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which service ports a backend could not program, and why, as of its last apply. Not a
// count of failures: what works again, or is gone, is no longer here. And when they are to be
// tried again. One thread.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/plugin/host_services.hpp"
#include "core/snapshot/transaction.hpp"
#include "core/sync/retry_clock.hpp"

namespace sluice::sync {

// Adds the service ports of the transaction that the core serves in part only to those that the backend rejected.
void add_withheld(const snapshot::Transaction& transaction, plugin::ServicePortReports& reports);

class LeftOut {
 public:
  LeftOut() = default;
  explicit LeftOut(RetryClock clock) : clock_(clock) {}

  // After a successful apply: a full transaction has tried all, a delta those it names.
  // Others are as they were, but for those of which the backend says that they are served.
  void note(const snapshot::Transaction& transaction, const plugin::ServicePortReports& reports,
            base::Clock::Time now);
  // When retry_due() will say yes; Time::max() while nobody is left out.
  base::Clock::Time next_retry() const { return clock_.at(); }
  // Whether it is time to try them again; once for each time.
  bool retry_due(base::Clock::Time now) { return clock_.due(now); }

  const std::map<plugin::ServicePortName, std::string>& reasons() const { return reasons_; }

 private:
  std::map<plugin::ServicePortName, std::string> reasons_;
  std::set<plugin::ServicePortName> withheld_;  // subset of reasons_ without a reason of the backend
  RetryClock clock_;
};

}  // namespace sluice::sync
