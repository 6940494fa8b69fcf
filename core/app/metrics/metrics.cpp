// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/metrics/metrics.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cassert>
#include <iterator>
#include <vector>

#include "core/app/metrics/catalogue.hpp"

namespace sluice::app {
namespace {

prometheus::Labels family_label(base::Family family) { return {{"ip_family", std::string(base::family_name(family))}}; }

// One shape whoever filled the family, so that two scrapes differ only where values do.
void put_in_order(std::vector<prometheus::MetricFamily>& families) {
  std::sort(families.begin(), families.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (auto& family : families) {
    std::sort(family.metric.begin(), family.metric.end(),
              [](const auto& a, const auto& b) { return a.label < b.label; });
  }
}

}  // namespace

template <class Builder>
auto& Metrics::family(Builder builder, std::string_view name) {
  const MetricDefinition* definition = find_metric(name);
  assert(definition != nullptr && definition->origin == MetricOrigin::daemon);
  return builder.Name(std::string(name)).Help(std::string(definition->help)).Register(registry_);
}

prometheus::Histogram& Metrics::add(prometheus::Family<prometheus::Histogram>& family, const Labels& labels) {
  return family.Add(labels, bucket_bounds(find_metric(family.GetName())->buckets));
}

Metrics::Metrics()
    : sync_duration_(family(prometheus::BuildHistogram(), "kubeproxy_sync_proxy_rules_duration_seconds")),
      full_duration_(family(prometheus::BuildHistogram(), "kubeproxy_sync_full_proxy_rules_duration_seconds")),
      partial_duration_(family(prometheus::BuildHistogram(), "kubeproxy_sync_partial_proxy_rules_duration_seconds")),
      select_duration_(family(prometheus::BuildHistogram(), "sluice_sync_select_duration_seconds")),
      apply_duration_(family(prometheus::BuildHistogram(), "sluice_sync_apply_duration_seconds")),
      kernel_duration_(family(prometheus::BuildHistogram(), "sluice_sync_kernel_duration_seconds")),
      programming_duration_(family(prometheus::BuildHistogram(), "kubeproxy_network_programming_duration_seconds")),
      last_sync_(family(prometheus::BuildGauge(), "kubeproxy_sync_proxy_rules_last_timestamp_seconds")),
      conntrack_duration_(family(prometheus::BuildHistogram(), "kubeproxy_conntrack_reconciler_sync_duration_seconds")),
      conntrack_deleted_(family(prometheus::BuildCounter(), "kubeproxy_conntrack_reconciler_deleted_entries_total")),
      swaps_(family(prometheus::BuildCounter(), "sluice_swaps_total")),
      swap_duration_(family(prometheus::BuildHistogram(), "sluice_swap_seconds")),
      swap_wait_(family(prometheus::BuildGauge(), "sluice_swap_longest_wait_seconds")),
      healthz_(family(prometheus::BuildCounter(), "kubeproxy_proxy_healthz_total")),
      livez_(family(prometheus::BuildCounter(), "kubeproxy_proxy_livez_total")),
      reloads_(family(prometheus::BuildCounter(), "sluice_reloads_total")),
      last_reload_successful_(family(prometheus::BuildGauge(), "sluice_config_last_reload_successful")),
      last_reload_success_(family(prometheus::BuildGauge(), "sluice_config_last_reload_success_timestamp_seconds")),
      requests_(family(prometheus::BuildCounter(), "rest_client_requests_total")),
      request_duration_(family(prometheus::BuildHistogram(), "rest_client_request_duration_seconds")),
      limiter_duration_(family(prometheus::BuildHistogram(), "rest_client_rate_limiter_duration_seconds")) {
  // The start was one, or there would be no daemon.
  for (const auto outcome : {ReloadOutcome::success, ReloadOutcome::unchanged, ReloadOutcome::failed}) {
    reloads_.Add({{"result", reload_outcome_name(outcome)}});
  }
  last_reload_successful_.Add({}).Set(1);
  last_reload_success_.Add({}).Set(unix_seconds(std::chrono::system_clock::now()));
}

void Metrics::conntrack_reconciled(base::Family family, double seconds, std::uint64_t deleted) {
  const Labels labels = family_label(family);
  add(conntrack_duration_, labels).Observe(seconds);
  conntrack_deleted_.Add(labels).Increment(static_cast<double>(deleted));
}

void Metrics::swapped(const std::string& from, const std::string& to, bool ok, double seconds,
                      double longest_wait_seconds) {
  swaps_.Add({{"from", from}, {"to", to}, {"result", ok ? "success" : "failed"}}).Increment();
  add(swap_duration_, {}).Observe(seconds);
  swap_wait_.Add({}).Set(longest_wait_seconds);
}

void Metrics::answered_healthz(int code) { healthz_.Add({{"code", std::to_string(code)}}).Increment(); }

void Metrics::answered_livez(int code) { livez_.Add({{"code", std::to_string(code)}}).Increment(); }

void Metrics::synced(base::Family family, const sync::SyncReport& report) {
  const Labels labels = family_label(family);
  add(sync_duration_, labels).Observe(report.seconds);
  add(report.full ? full_duration_ : partial_duration_, labels).Observe(report.seconds);
  add(select_duration_, labels).Observe(report.select_seconds);
  add(apply_duration_, labels).Observe(report.apply_seconds);
  if (report.kernel_seconds > 0) add(kernel_duration_, labels).Observe(report.kernel_seconds);
  if (!report.ok) return;
  last_sync_.Add(labels).Set(unix_seconds(report.at));
  if (report.trigger_times.empty()) return;
  prometheus::Histogram& latency = add(programming_duration_, labels);
  for (const auto trigger : report.trigger_times) {
    latency.Observe(std::chrono::duration<double>(report.at - trigger).count());
  }
}

void Metrics::reloaded(const ReloadResult& result) {
  reloads_.Add({{"result", reload_outcome_name(result.outcome)}}).Increment();
  last_reload_successful_.Add({}).Set(result.ok() ? 1 : 0);
  if (result.ok()) last_reload_success_.Add({}).Set(unix_seconds(result.at));
}

void Metrics::answered(std::string_view host, std::string_view method, int status, double seconds) {
  const std::string code = status == 0 ? "<error>" : std::to_string(status);
  requests_.Add({{"code", code}, {"host", std::string(host)}, {"method", std::string(method)}}).Increment();
  add(request_duration_, {{"host", std::string(host)}, {"verb", std::string(method)}}).Observe(seconds);
}

void Metrics::waited(std::string_view host, std::string_view method, double seconds) {
  add(limiter_duration_, {{"host", std::string(host)}, {"verb", std::string(method)}}).Observe(seconds);
}

std::string Metrics::text() const {
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  const auto append = [&families](std::vector<prometheus::MetricFamily> more) {
    std::move(more.begin(), more.end(), std::back_inserter(families));
  };
  append(plugins_.Collect());
  append(to_families(figures_ ? figures_() : Figures()));
  put_in_order(families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace sluice::app
