// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/lock_metrics.hpp"

#include <chrono>

#include "plugins/common/declared_metrics.hpp"

namespace sluice::netfilter {

void LockMetrics::report(const KernelSession& session, bool given_up) {
  const std::chrono::duration<double> waited = session.lock_wait();
  if (waited.count() == 0) return;
  if (!all_) all_ = {metrics_.series(common::metric::kLockWait), metrics_.series(common::metric::kLockTimeouts)};
  all_->wait.add(waited.count());
  if (given_up) all_->timeouts.add(1);
}

}  // namespace sluice::netfilter
