// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/metrics.hpp"

#include <utility>

#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::nftables {
namespace {

constexpr std::string_view kNoLocal = "kubeproxy_sync_proxy_rules_no_local_endpoints_total";
constexpr std::string_view kSyncFailures = "kubeproxy_sync_proxy_rules_nftables_sync_failures_total";
constexpr std::string_view kSavedListings = "sluice_nftables_saved_listings_total";
constexpr std::string_view kCleanupFailures = "kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total";

}  // namespace

void NoLocalEndpoints::put(const PortId& id, const abi::ServicePort& port, const ServicePlan& plan) {
  remove(id);
  if (!plan.local.empty() || !(sdk::has(port, abi::kHasAnyEndpoint) || !plan.cluster.empty())) return;
  const Policies policies{sdk::has(port, abi::kInternalPolicyLocal), sdk::has(port, abi::kExternalPolicyLocal)};
  if (!policies.internal && !policies.external) return;
  ports_[id] = policies;
  internal_ += policies.internal ? 1 : 0;
  external_ += policies.external ? 1 : 0;
}

void NoLocalEndpoints::remove(const PortId& id) {
  const auto place = ports_.find(id);
  if (place == ports_.end()) return;
  internal_ -= place->second.internal ? 1 : 0;
  external_ -= place->second.external ? 1 : 0;
  ports_.erase(place);
}

Metrics::Metrics(abi::Host& host, abi::Family family)
    : host_(host), family_label_(family == abi::Family::kIpv6 ? "ip_family=\"IPv6\"" : "ip_family=\"IPv4\"") {}

void Metrics::report(abi::MetricKind kind, std::string_view name, double value, const std::string& extra_labels) const {
  const std::string labels = extra_labels + family_label_;
  host_.metric(kind, sdk::view(name), sdk::view(labels), value);
}

// Most changes of a busy node change none of these.
void Metrics::report_objects(std::size_t elements, std::size_t chains, const NoLocalEndpoints& no_local) {
  const bool first = !objects_;
  const Objects now{elements, chains, no_local.internal(), no_local.external()};
  if (objects_ == now) return;
  objects_ = now;
  report(abi::MetricKind::kGaugeSet, "sluice_nftables_elements", static_cast<double>(now.elements));
  report(abi::MetricKind::kGaugeSet, "sluice_nftables_chains", static_cast<double>(now.chains));
  report(abi::MetricKind::kGaugeSet, kNoLocal, static_cast<double>(now.internal), "traffic_policy=\"internal\",");
  report(abi::MetricKind::kGaugeSet, kNoLocal, static_cast<double>(now.external), "traffic_policy=\"external\",");
  if (!first) return;
  // Created at start, so that rate() sees the first increment.
  report(abi::MetricKind::kCounterAdd, kSyncFailures, 0);
  report(abi::MetricKind::kCounterAdd, kCleanupFailures, 0);
  report(abi::MetricKind::kCounterAdd, kSavedListings, 0);
}

void Metrics::report_kernel(const KernelStatistics& now) {
  const bool first = !std::exchange(kernel_reported_, true);
  const auto add = [&](std::string_view name, std::uint64_t value, std::uint64_t reported,
                       const char* extra_labels = "") {
    if (!first && value == reported) return;
    report(abi::MetricKind::kCounterAdd, name, static_cast<double>(value - reported), extra_labels);
  };
  constexpr std::string_view kTransactions = "sluice_nftables_transactions_total";
  add(kTransactions, now.commits, reported_.commits, "result=\"carried_out\",");
  add(kTransactions, now.refused, reported_.refused, "result=\"refused\",");
  add("sluice_nftables_listings_total", now.listings, reported_.listings);
  add("sluice_nftables_sent_bytes_total", now.bytes, reported_.bytes);
  reported_ = now;
}

void Metrics::report_offload(std::size_t interfaces) const {
  report(abi::MetricKind::kGaugeSet, "sluice_nftables_offload_interfaces", static_cast<double>(interfaces));
}

void Metrics::sync_failed() const { report(abi::MetricKind::kCounterAdd, kSyncFailures, 1); }

void Metrics::cleanup_failed() const { report(abi::MetricKind::kCounterAdd, kCleanupFailures, 1); }

void Metrics::saved_listing_used() const { report(abi::MetricKind::kCounterAdd, kSavedListings, 1); }

void Metrics::report_traffic(const Traffic::Delta& delta) const {
  constexpr std::string_view kPackets = "sluice_nftables_service_packets_total";
  constexpr std::string_view kBytes = "sluice_nftables_service_bytes_total";
  const auto label = [](const std::string& service) { return "service=\"" + service + "\","; };
  for (const auto& [service, sum] : delta.growth) {
    report(abi::MetricKind::kCounterAdd, kPackets, static_cast<double>(sum.packets), label(service));
    report(abi::MetricKind::kCounterAdd, kBytes, static_cast<double>(sum.bytes), label(service));
  }
  // The daemon cannot remove a series: reset it, as a Service created later may have the same name.
  for (const std::string& service : delta.gone) {
    report(abi::MetricKind::kCounterSet, kPackets, 0, label(service));
    report(abi::MetricKind::kCounterSet, kBytes, 0, label(service));
  }
}

}  // namespace sluice::nftables
