// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reports metrics to the daemon. The apply thread only.
#pragma once

#include <optional>

#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/common/netfilter/lock_metrics.hpp"
#include "plugins/iptables/state.hpp"
#include "sluice/sdk/logger.hpp"
#include "sluice/sdk/metrics.hpp"

namespace sluice::iptables {

class Reporter {
 public:
  explicit Reporter(const sdk::Metrics& metrics) : metrics_(metrics), lock_(metrics) {}

  // After an apply that succeeded.
  void rules(const Totals& totals, const netfilter::KernelSession& session);
  // After each apply: the wait for the lock of legacy iptables, if there was any.
  void lock(const netfilter::KernelSession& session, bool given_up, const sdk::Logger& log);
  // A restore was rejected, in a full transaction or in a delta.
  void failure(bool full);

 private:
  struct Gauges {
    explicit Gauges(const sdk::Metrics& metrics);
    sdk::Series filter_rules, nat_rules, filter_lines, nat_lines, internal_without_local, external_without_local;
  };
  struct Failures {
    explicit Failures(const sdk::Metrics& metrics);
    sdk::Series all, partial;
  };

  const sdk::Metrics metrics_;
  std::optional<Gauges> gauges_;      // exist from the first report on
  std::optional<Failures> failures_;  // likewise
  netfilter::LockMetrics lock_;
};

}  // namespace sluice::iptables
