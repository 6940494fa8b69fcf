// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/metrics/metrics.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>
#include <limits>
#include <vector>

#include "core/observe/metrics/catalogue.hpp"
#include "core/observe/metrics/registered.hpp"

namespace sluice::observe {
namespace {

prometheus::Labels family_label(lib::Family family) { return {{"ip_family", std::string(lib::family_name(family))}}; }

// A fixed order, so that two scrapes differ only in values.
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
      limiter_duration_(family(prometheus::BuildHistogram(), "rest_client_rate_limiter_duration_seconds")),
      retries_(family(prometheus::BuildCounter(), "rest_client_request_retries_total")),
      request_size_(family(prometheus::BuildHistogram(), "rest_client_request_size_bytes")),
      answer_size_(family(prometheus::BuildHistogram(), "rest_client_response_size_bytes")),
      pool_uses_(family(prometheus::BuildCounter(), "rest_client_transport_create_calls_total")),
      pools_kept_(family(prometheus::BuildGauge(), "rest_client_transport_cache_entries").Add({})),
      ca_reloads_(family(prometheus::BuildCounter(), "rest_client_transport_ca_reload_total")),
      exec_calls_(family(prometheus::BuildCounter(), "rest_client_exec_plugin_call_total")),
      exec_rotation_age_(
          add(family(prometheus::BuildHistogram(), "rest_client_exec_plugin_certificate_rotation_age"), {})),
      exec_ttl_(family(prometheus::BuildGauge(), "rest_client_exec_plugin_ttl_seconds").Add({})) {
  // A start counts as a successful load.
  for (const auto outcome :
       {reload::ReloadOutcome::success, reload::ReloadOutcome::unchanged, reload::ReloadOutcome::failed}) {
    reloads_.Add({{"result", reload::reload_outcome_name(outcome)}});
  }
  last_reload_successful_.Add({}).Set(1);
  last_reload_success_.Add({}).Set(unix_seconds(std::chrono::system_clock::now()));
}

void Metrics::conntrack_reconciled(lib::Family family, double seconds, std::uint64_t deleted) {
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

void Metrics::synced(lib::Family family, const sync::SyncReport& report) {
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

void Metrics::reloaded(const reload::ReloadResult& result) {
  reloads_.Add({{"result", reload::reload_outcome_name(result.outcome)}}).Increment();
  last_reload_successful_.Add({}).Set(result.ok() ? 1 : 0);
  if (result.ok()) last_reload_success_.Add({}).Set(unix_seconds(result.at));
}

void Metrics::answered(const kube::AnsweredRequest& request) {
  const std::string code = request.status == 0 ? "<error>" : std::to_string(request.status);
  const std::string host(request.host);
  const std::string verb(request.method);
  const Labels labels{{"host", host}, {"verb", verb}};
  requests_.Add({{"code", code}, {"host", host}, {"method", verb}}).Increment();
  if (request.again) retries_.Add({{"code", code}, {"host", host}, {"verb", verb}}).Increment();
  add(request_duration_, labels).Observe(request.seconds);
  if (request.request_bytes) add(request_size_, labels).Observe(static_cast<double>(*request.request_bytes));
  if (request.answer_bytes) add(answer_size_, labels).Observe(static_cast<double>(*request.answer_bytes));
}

void Metrics::waited(std::string_view host, std::string_view method, double seconds) {
  add(limiter_duration_, {{"host", std::string(host)}, {"verb", std::string(method)}}).Observe(seconds);
}

void Metrics::pool_used(kube::PoolUse use) {
  static constexpr std::array kResults{"hit", "miss", "uncacheable"};  // by kube::PoolUse
  pool_uses_.Add({{"result", kResults[static_cast<std::size_t>(use)]}}).Increment();
}

void Metrics::pools_kept(int change) { pools_kept_.Increment(change); }

void Metrics::exec_plugin_called(int code, std::string_view status) {
  exec_calls_.Add({{"call_status", std::string(status)}, {"code", std::to_string(code)}}).Increment();
}

void Metrics::exec_certificate_expires(const void* plugin, std::optional<std::chrono::system_clock::time_point> when) {
  const lib::Lock lock(mutex_);
  if (when) {
    certificates_[plugin] = *when;
  } else {
    certificates_.erase(plugin);
  }
}

void Metrics::exec_certificate_rotated(double age_seconds) { exec_rotation_age_.Observe(age_seconds); }

void Metrics::ca_reloaded(bool success, std::string_view reason) {
  ca_reloads_.Add({{"reason", std::string(reason)}, {"result", success ? "success" : "failure"}}).Increment();
}

double Metrics::shortest_ttl() const {
  const auto now = std::chrono::system_clock::now();
  double out = std::numeric_limits<double>::infinity();
  const lib::Lock lock(mutex_);
  for (const auto& [plugin, when] : certificates_) {
    out = std::min(out, std::chrono::duration<double>(when - now).count());
  }
  return out;
}

std::string Metrics::text() const {
  exec_ttl_.Set(shortest_ttl());
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  const auto append = [&families](std::vector<prometheus::MetricFamily> more) {
    std::move(more.begin(), more.end(), std::back_inserter(families));
  };
  std::vector<prometheus::MetricFamily> plugin_families = plugins_.Collect();
  append(registered_families(plugin_families));
  append(std::move(plugin_families));
  append(to_families(scrape_source_ ? scrape_source_() : ScrapeData()));
  put_in_order(families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace sluice::observe
