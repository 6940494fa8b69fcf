// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/reporter.hpp"

#include <chrono>
#include <cstdio>

#include "plugins/common/log_ids.hpp"
#include "plugins/iptables/declared_metrics.hpp"

namespace sluice::iptables {
namespace {

constexpr std::chrono::seconds kLongWait(1);

}  // namespace

Reporter::Gauges::Gauges(const sdk::Metrics& metrics)
    : filter_rules(metrics.series(metric::kRulesTotal, {"filter"})),
      nat_rules(metrics.series(metric::kRulesTotal, {"nat"})),
      filter_lines(metrics.series(metric::kRulesLast, {"filter"})),
      nat_lines(metrics.series(metric::kRulesLast, {"nat"})),
      internal_without_local(metrics.series(common::metric::kNoLocalEndpoints, {"internal"})),
      external_without_local(metrics.series(common::metric::kNoLocalEndpoints, {"external"})) {}

Reporter::Failures::Failures(const sdk::Metrics& metrics)
    : all(metrics.series(common::metric::kRestoreFailures)), partial(metrics.series(metric::kPartialRestoreFailures)) {}

void Reporter::rules(const Totals& totals, const netfilter::KernelSession& session) {
  if (!gauges_) gauges_.emplace(metrics_);
  if (!failures_) failures_.emplace(metrics_);  // exported from the start, for rate()
  const auto set = [](const sdk::Series& gauge, std::size_t value) { gauge.set(static_cast<double>(value)); };
  set(gauges_->filter_rules, totals.filter_rules);
  set(gauges_->nat_rules, totals.nat_rules);
  set(gauges_->filter_lines, session.lines(Table::kFilter));
  set(gauges_->nat_lines, session.lines(Table::kNat));
  set(gauges_->internal_without_local, totals.internal_without_local_endpoints);
  set(gauges_->external_without_local, totals.external_without_local_endpoints);
}

void Reporter::lock(const netfilter::KernelSession& session, bool given_up, const sdk::Logger& log) {
  lock_.report(session, given_up);
  if (session.lock_wait().count() == 0) return;
  if (!given_up && session.longest_lock_wait() >= kLongWait) {
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%.1f", static_cast<double>(session.longest_lock_wait().count()) / 1000);
    log.warning(log_id::kXtablesLockWait,
                std::string("waited ") + seconds + " s for the xtables lock, which another program held");
  }
}

void Reporter::failure(bool full) {
  if (!failures_) failures_.emplace(metrics_);
  failures_->all.add(1);
  if (!full) failures_->partial.add(1);
}

}  // namespace sluice::iptables
