// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/metrics.hpp"

#include "plugins/nftables/declared_metrics.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::nftables {
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

Metrics::Gauges::Gauges(const sdk::Metrics& metrics)
    : elements(metrics.series(metric::kElements)),
      chains(metrics.series(metric::kChains)),
      internal_without_local(metrics.series(common::metric::kNoLocalEndpoints, {"internal"})),
      external_without_local(metrics.series(common::metric::kNoLocalEndpoints, {"external"})) {}

Metrics::Counters::Counters(const sdk::Metrics& metrics)
    : transactions(metrics.series(metric::kTransactions, {"carried_out"})),
      refused_transactions(metrics.series(metric::kTransactions, {"refused"})),
      listings(metrics.series(metric::kListings)),
      sent_bytes(metrics.series(metric::kSentBytes)),
      saved_listings(metrics.series(metric::kSavedListings)),
      sync_failures(metrics.series(metric::kSyncFailures)),
      cleanup_failures(metrics.series(metric::kCleanupFailures)) {}

Metrics::Counters& Metrics::counters() {
  if (!counters_) counters_.emplace(metrics_);
  return *counters_;
}

// Most changes of a busy node change none of these.
void Metrics::report_objects(std::size_t elements, std::size_t chains, const NoLocalEndpoints& no_local) {
  const Objects now{elements, chains, no_local.internal(), no_local.external()};
  if (objects_ == now) return;
  objects_ = now;
  if (!gauges_) gauges_.emplace(metrics_);
  gauges_->elements.set(static_cast<double>(now.elements));
  gauges_->chains.set(static_cast<double>(now.chains));
  gauges_->internal_without_local.set(static_cast<double>(now.internal));
  gauges_->external_without_local.set(static_cast<double>(now.external));
}

void Metrics::report_kernel(const KernelStatistics& now) {
  const auto add = [](const sdk::Series& counter, std::uint64_t value, std::uint64_t reported) {
    if (value != reported) counter.add(static_cast<double>(value - reported));
  };
  const Counters& to = counters();
  add(to.transactions, now.commits, reported_.commits);
  add(to.refused_transactions, now.refused, reported_.refused);
  add(to.listings, now.listings, reported_.listings);
  add(to.sent_bytes, now.bytes, reported_.bytes);
  reported_ = now;
}

void Metrics::report_offload(std::size_t interfaces) {
  if (!offload_) offload_ = metrics_.series(metric::kOffloadInterfaces);
  offload_->set(static_cast<double>(interfaces));
}

void Metrics::sync_failed() { counters().sync_failures.add(1); }

void Metrics::cleanup_failed() { counters().cleanup_failures.add(1); }

void Metrics::saved_listing_used() { counters().saved_listings.add(1); }

void Metrics::report_traffic(const Traffic::Delta& delta) {
  for (const auto& [service, sum] : delta.growth) {
    const auto [place, is_new] = services_.try_emplace(service);
    ServiceSeries& series = place->second;
    if (is_new) {
      series = {metrics_.series(metric::kServicePackets, {service}), metrics_.series(metric::kServiceBytes, {service})};
    }
    series.packets.add(static_cast<double>(sum.packets));
    series.bytes.add(static_cast<double>(sum.bytes));
  }
  for (const std::string& service : delta.gone) {
    const auto place = services_.find(service);
    if (place == services_.end()) continue;
    metrics_.remove(place->second.packets);
    metrics_.remove(place->second.bytes);
    services_.erase(place);
  }
}

}  // namespace sluice::nftables
