// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/reporter.hpp"

#include <chrono>
#include <cstdio>

#include "plugins/common/log_ids.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::iptables {
namespace {

constexpr std::string_view kTotal = "kubeproxy_sync_proxy_rules_iptables_total";
constexpr std::string_view kLast = "kubeproxy_sync_proxy_rules_iptables_last";
constexpr std::string_view kNoLocal = "kubeproxy_sync_proxy_rules_no_local_endpoints_total";
constexpr std::string_view kFailures = "kubeproxy_sync_proxy_rules_iptables_restore_failures_total";
constexpr std::string_view kPartialFailures = "kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total";
constexpr std::string_view kLockWait = "sluice_iptables_lock_wait_seconds_total";
constexpr std::string_view kLockFailures = "sluice_iptables_lock_timeouts_total";

constexpr std::chrono::seconds kLongWait(1);

}  // namespace

std::string Reporter::family_label() const {
  return family_ == abi::Family::kIpv6 ? "ip_family=\"IPv6\"" : "ip_family=\"IPv4\"";
}

void Reporter::set(std::string_view metric, std::string_view label, std::string_view value, std::size_t number) const {
  const std::string labels = std::string(label).append("=\"").append(value).append("\",").append(family_label());
  host_.metric(abi::MetricKind::kGaugeSet, sdk::view(metric), sdk::view(labels), static_cast<double>(number));
}

void Reporter::add(std::string_view metric, double number) const {
  const std::string labels = family_label();
  host_.metric(abi::MetricKind::kCounterAdd, sdk::view(metric), sdk::view(labels), number);
}

void Reporter::rules(const Totals& totals, const netfilter::KernelSession& session) const {
  set(kTotal, "table", "filter", totals.filter_rules);
  set(kTotal, "table", "nat", totals.nat_rules);
  set(kLast, "table", "filter", session.lines(Table::kFilter));
  set(kLast, "table", "nat", session.lines(Table::kNat));
  set(kNoLocal, "traffic_policy", "internal", totals.internal_without_local_endpoints);
  set(kNoLocal, "traffic_policy", "external", totals.external_without_local_endpoints);
}

void Reporter::lock(const netfilter::KernelSession& session, bool given_up, const sdk::Logger& log) const {
  if (session.lock_wait().count() == 0) return;
  add(kLockWait, static_cast<double>(session.lock_wait().count()) / 1000);
  if (given_up) {
    add(kLockFailures, 1);
  } else if (session.longest_lock_wait() >= kLongWait) {
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%.1f", static_cast<double>(session.longest_lock_wait().count()) / 1000);
    log.warning(log_id::kXtablesLockWait,
                std::string("waited ") + seconds + " s for the xtables lock, which another program held");
  }
}

void Reporter::failure(bool full) const {
  add(kFailures, 1);
  if (!full) add(kPartialFailures, 1);
}

}  // namespace sluice::iptables
