// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/metrics.hpp"

#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::nftables {
namespace {

constexpr std::string_view kNoLocal = "kubeproxy_sync_proxy_rules_no_local_endpoints_total";
constexpr std::string_view kSyncFailures = "kubeproxy_sync_proxy_rules_nftables_sync_failures_total";
constexpr std::string_view kCleanupFailures = "kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total";

}  // namespace

void NoLocalEndpoints::put(const PortId& id, const abi::ServicePort& port, const ServicePlan& plan) {
  remove(id);
  if (!plan.local.empty() || !(sdk::has(port, abi::kHasAnyEndpoint) || !plan.cluster.empty())) return;
  const Lacks lacks{sdk::has(port, abi::kInternalPolicyLocal), sdk::has(port, abi::kExternalPolicyLocal)};
  if (!lacks.internal && !lacks.external) return;
  ports_[id] = lacks;
  internal_ += lacks.internal ? 1 : 0;
  external_ += lacks.external ? 1 : 0;
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

void Metrics::tell(abi::MetricKind kind, std::string_view name, double value, const std::string& more) const {
  const std::string labels = more + family_label_;
  host_.metric(kind, sdk::view(name), sdk::view(labels), value);
}

void Metrics::holdings(std::size_t elements, std::size_t chains, const NoLocalEndpoints& no_local) const {
  tell(abi::MetricKind::kGaugeSet, "sluice_nftables_elements", static_cast<double>(elements));
  tell(abi::MetricKind::kGaugeSet, "sluice_nftables_chains", static_cast<double>(chains));
  tell(abi::MetricKind::kGaugeSet, kNoLocal, static_cast<double>(no_local.internal()), "traffic_policy=\"internal\",");
  tell(abi::MetricKind::kGaugeSet, kNoLocal, static_cast<double>(no_local.external()), "traffic_policy=\"external\",");
  // There from the start, so that a rate can be made of them.
  tell(abi::MetricKind::kCounterAdd, kSyncFailures, 0);
  tell(abi::MetricKind::kCounterAdd, kCleanupFailures, 0);
}

void Metrics::figures(const KernelFigures& now) {
  const auto add = [&](std::string_view name, std::uint64_t value, std::uint64_t told, const char* more = "") {
    tell(abi::MetricKind::kCounterAdd, name, static_cast<double>(value - told), more);
  };
  constexpr std::string_view kTransactions = "sluice_nftables_transactions_total";
  add(kTransactions, now.commits, told_.commits, "result=\"carried_out\",");
  add(kTransactions, now.refused, told_.refused, "result=\"refused\",");
  add("sluice_nftables_listings_total", now.listings, told_.listings);
  add("sluice_nftables_sent_bytes_total", now.bytes, told_.bytes);
  told_ = now;
}

void Metrics::sync_failed() const { tell(abi::MetricKind::kCounterAdd, kSyncFailures, 1); }

void Metrics::cleanup_failed() const { tell(abi::MetricKind::kCounterAdd, kCleanupFailures, 1); }

void Metrics::traffic(const Traffic::News& news) const {
  constexpr std::string_view kPackets = "sluice_nftables_service_packets_total";
  constexpr std::string_view kBytes = "sluice_nftables_service_bytes_total";
  const auto label = [](const std::string& service) { return "service=\"" + service + "\","; };
  for (const auto& [service, sum] : news.more) {
    tell(abi::MetricKind::kCounterAdd, kPackets, static_cast<double>(sum.packets), label(service));
    tell(abi::MetricKind::kCounterAdd, kBytes, static_cast<double>(sum.bytes), label(service));
  }
  // The daemon takes no series back: another Service of that name is to begin at 0, at least.
  for (const std::string& service : news.gone) {
    tell(abi::MetricKind::kCounterSet, kPackets, 0, label(service));
    tell(abi::MetricKind::kCounterSet, kBytes, 0, label(service));
  }
}

}  // namespace sluice::nftables
