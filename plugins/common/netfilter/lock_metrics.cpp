// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/lock_metrics.hpp"

#include <chrono>
#include <string_view>

#include "sluice/sdk/views.hpp"

namespace sluice::netfilter {
namespace {

constexpr std::string_view kLockWait = "sluice_iptables_lock_wait_seconds_total";
constexpr std::string_view kLockFailures = "sluice_iptables_lock_timeouts_total";

void report(abi::Host& host, abi::Family family, abi::MetricKind kind, std::string_view name, double value) {
  const std::string_view labels = family == abi::Family::kIpv6 ? "ip_family=\"IPv6\"" : "ip_family=\"IPv4\"";
  host.metric(kind, sdk::view(name), sdk::view(labels), value);
}

}  // namespace

void report_lock(abi::Host& host, abi::Family family, const KernelSession& session, bool given_up) {
  const std::chrono::duration<double> waited = session.lock_wait();
  if (waited.count() == 0) return;
  report(host, family, abi::MetricKind::kCounterAdd, kLockWait, waited.count());
  if (given_up) report(host, family, abi::MetricKind::kCounterAdd, kLockFailures, 1);
}

}  // namespace sluice::netfilter
