// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Metrics of the xtables lock of legacy iptables. The apply thread only.
#pragma once

#include <optional>

#include "plugins/common/netfilter/kernel_session.hpp"
#include "sluice/sdk/metrics.hpp"

namespace sluice::netfilter {

class LockMetrics {
 public:
  explicit LockMetrics(const sdk::Metrics& metrics) : metrics_(metrics) {}

  // Reports the wait for the lock in one apply, if there was any. `given_up`: the wait timed out.
  void report(const KernelSession& session, bool given_up);

 private:
  struct All {
    sdk::Series wait;
    sdk::Series timeouts;
  };
  const sdk::Metrics metrics_;
  std::optional<All> all_;  // exist from the first wait on: only legacy iptables has the lock
};

}  // namespace sluice::netfilter
