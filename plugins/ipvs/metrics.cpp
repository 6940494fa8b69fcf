// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/metrics.hpp"

#include "sluice/sdk/views.hpp"

namespace sluice::ipvs {
namespace {

using Kind = abi::MetricKind;

constexpr std::string_view kNoLocal = "kubeproxy_sync_proxy_rules_no_local_endpoints_total";
constexpr std::string_view kRestoreFailures = "kubeproxy_sync_proxy_rules_iptables_restore_failures_total";
constexpr std::string_view kMessages = "sluice_ipvs_messages_total";

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

Metrics::Metrics(abi::Host& host, abi::Family family)
    : host_(host), family_label_(family == abi::Family::kIpv6 ? "ip_family=\"IPv6\"" : "ip_family=\"IPv4\"") {}

void Metrics::report(Kind kind, std::string_view name, double value, const std::string& more) const {
  const std::string labels = more + family_label_;
  host_.metric(kind, sdk::view(name), sdk::view(labels), value);
}

void Metrics::holdings(const Holdings& now) const {
  const auto gauge = [&](std::string_view name, std::size_t value) {
    report(Kind::kGaugeSet, name, static_cast<double>(value));
  };
  gauge("sluice_ipvs_virtual_servers", now.virtual_servers);
  gauge("sluice_ipvs_real_servers", now.real_servers);
  gauge("sluice_ipvs_draining_real_servers", now.draining);
  gauge("sluice_ipvs_set_entries", now.set_entries);
  gauge("sluice_ipvs_addresses", now.addresses);
  report(Kind::kCounterAdd, kRestoreFailures, 0);  // exported from the start, for rate()
}

void Metrics::no_local_endpoints(const NoLocalEndpoints& now) const {
  report(Kind::kGaugeSet, kNoLocal, static_cast<double>(now.internal()), "traffic_policy=\"internal\",");
  report(Kind::kGaugeSet, kNoLocal, static_cast<double>(now.external()), "traffic_policy=\"external\",");
}

void Metrics::messages(const Messages& now) {
  const auto add = [&](std::uint64_t sent, std::uint64_t reported, const char* part) {
    report(Kind::kCounterAdd, kMessages, static_cast<double>(sent - reported), std::string("part=\"") + part + "\",");
  };
  add(now.servers, reported_.servers, "servers");
  add(now.sets, reported_.sets, "sets");
  add(now.links, reported_.links, "links");
  reported_ = now;
}

void Metrics::restore_failed() const { report(Kind::kCounterAdd, kRestoreFailures, 1); }

}  // namespace sluice::ipvs
