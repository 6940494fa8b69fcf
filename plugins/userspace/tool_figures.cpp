// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/tool_figures.hpp"

#include <chrono>
#include <string_view>

#include "sluice/sdk/views.hpp"

namespace sluice::userspace {
namespace {

constexpr std::string_view kKernelTime = "sluice_sync_kernel_duration_seconds";
constexpr std::string_view kLockWait = "sluice_iptables_lock_wait_seconds_total";
constexpr std::string_view kLockFailures = "sluice_iptables_lock_timeouts_total";

}  // namespace

void report_tools(abi::Host& host, abi::Family family, const netfilter::KernelSession& session, bool given_up) {
  const std::string_view labels = family == abi::Family::kIpv6 ? "ip_family=\"IPv6\"" : "ip_family=\"IPv4\"";
  const auto tell = [&](abi::MetricKind kind, std::string_view name, double value) {
    host.metric(kind, sdk::view(name), sdk::view(labels), value);
  };
  const std::chrono::duration<double> tools = session.tool_time();
  tell(abi::MetricKind::kHistogramObserve, kKernelTime, tools.count());
  const std::chrono::duration<double> waited = session.lock_wait();
  if (waited.count() == 0) return;
  tell(abi::MetricKind::kCounterAdd, kLockWait, waited.count());
  if (given_up) tell(abi::MetricKind::kCounterAdd, kLockFailures, 1);
}

}  // namespace sluice::userspace
