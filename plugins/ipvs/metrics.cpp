// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/metrics.hpp"

#include "plugins/ipvs/declared_metrics.hpp"

namespace sluice::ipvs {
namespace {

// "ns/name" of "ns/name:port".
std::string_view service_of(const PortId& id) {
  const std::string_view name = id.first;
  return name.substr(0, name.find(':'));
}

}  // namespace

void NoLocalEndpoints::put(const PortId& id, const ServicePlan& plan) {
  remove(id);
  if (!plan.internal_without_local_endpoints && !plan.external_without_local_endpoints) return;
  ports_[id] = {plan.internal_without_local_endpoints, plan.external_without_local_endpoints};
  const std::string service(service_of(id));
  if (plan.internal_without_local_endpoints) ++internal_[service];
  if (plan.external_without_local_endpoints) ++external_[service];
}

void NoLocalEndpoints::remove(const PortId& id) {
  const auto place = ports_.find(id);
  if (place == ports_.end()) return;
  const auto release = [&](Services& services) {
    const auto service = services.find(service_of(id));
    if (--service->second == 0) services.erase(service);
  };
  if (place->second.internal) release(internal_);
  if (place->second.external) release(external_);
  ports_.erase(place);
}

Metrics::Gauges::Gauges(const sdk::Metrics& metrics)
    : virtual_servers(metrics.series(metric::kVirtualServers)),
      real_servers(metrics.series(metric::kRealServers)),
      draining(metrics.series(metric::kDrainingRealServers)),
      set_entries(metrics.series(metric::kSetEntries)),
      addresses(metrics.series(metric::kAddresses)),
      internal_without_local(metrics.series(common::metric::kNoLocalEndpoints, {"internal"})),
      external_without_local(metrics.series(common::metric::kNoLocalEndpoints, {"external"})) {}

Metrics::Counters::Counters(const sdk::Metrics& metrics)
    : servers(metrics.series(metric::kMessages, {"servers"})),
      sets(metrics.series(metric::kMessages, {"sets"})),
      links(metrics.series(metric::kMessages, {"links"})),
      restore_failures(metrics.series(common::metric::kRestoreFailures)) {}

Metrics::Gauges& Metrics::gauges() {
  if (!gauges_) gauges_.emplace(metrics_);
  return *gauges_;
}

Metrics::Counters& Metrics::counters() {
  if (!counters_) counters_.emplace(metrics_);
  return *counters_;
}

void Metrics::holdings(const Holdings& now) {
  const Gauges& to = gauges();
  const auto set = [](const sdk::Series& gauge, std::size_t value) { gauge.set(static_cast<double>(value)); };
  set(to.virtual_servers, now.virtual_servers);
  set(to.real_servers, now.real_servers);
  set(to.draining, now.draining);
  set(to.set_entries, now.set_entries);
  set(to.addresses, now.addresses);
}

void Metrics::no_local_endpoints(const NoLocalEndpoints& now) {
  gauges().internal_without_local.set(static_cast<double>(now.internal()));
  gauges().external_without_local.set(static_cast<double>(now.external()));
}

void Metrics::messages(const Messages& now) {
  const Counters& to = counters();
  to.servers.add(static_cast<double>(now.servers - reported_.servers));
  to.sets.add(static_cast<double>(now.sets - reported_.sets));
  to.links.add(static_cast<double>(now.links - reported_.links));
  reported_ = now;
}

void Metrics::restore_failed() { counters().restore_failures.add(1); }

}  // namespace sluice::ipvs
