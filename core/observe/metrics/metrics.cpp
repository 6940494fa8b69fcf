// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/metrics/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
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

using Counters = prometheus::Family<prometheus::Counter>;
using Gauges = prometheus::Family<prometheus::Gauge>;
using Histograms = prometheus::Family<prometheus::Histogram>;

prometheus::Histogram& add(Histograms& family, const prometheus::Labels& labels) {
  return family.Add(labels, bucket_bounds(find_metric(family.GetName())->buckets));
}

prometheus::Gauge& add(Gauges& family, const prometheus::Labels& labels) { return family.Add(labels); }

// One series for each IP family, made when it is first used. To find a series by its labels costs a map of strings each
// time. All threads.
template <class Series>
class PerIpFamily {
 public:
  explicit PerIpFamily(prometheus::Family<Series>& of) : of_(of) {}
  Series& operator[](lib::Family family) {
    std::atomic<Series*>& known = known_[lib::family_index(family)];
    if (Series* const found = known.load(std::memory_order_acquire)) return *found;
    Series& made = add(of_, family_label(family));  // the same one for each caller
    known.store(&made, std::memory_order_release);
    return made;
  }

 private:
  prometheus::Family<Series>& of_;
  std::array<std::atomic<Series*>, 2> known_{};
};
using HistogramPerIpFamily = PerIpFamily<prometheus::Histogram>;
using GaugePerIpFamily = PerIpFamily<prometheus::Gauge>;

}  // namespace

// The metrics that methods of Metrics record: one line for each, and its definition in the catalogue.
struct Metrics::Recorded {
  explicit Recorded(prometheus::Registry& in_registry) : registry(in_registry) {}

  template <class Builder>
  auto& family(Builder builder, std::string_view name) const {
    const MetricDefinition* definition = find_metric(name);
    assert(definition != nullptr);
    return builder.Name(std::string(name)).Help(std::string(definition->help)).Register(registry);
  }
  Counters& counters(std::string_view name) const { return family(prometheus::BuildCounter(), name); }
  Gauges& gauges(std::string_view name) const { return family(prometheus::BuildGauge(), name); }
  Histograms& histograms(std::string_view name) const { return family(prometheus::BuildHistogram(), name); }

  prometheus::Registry& registry;  // before the families, which it owns
  HistogramPerIpFamily sync_duration{histograms("kubeproxy_sync_proxy_rules_duration_seconds")};
  HistogramPerIpFamily full_duration{histograms("kubeproxy_sync_full_proxy_rules_duration_seconds")};
  HistogramPerIpFamily partial_duration{histograms("kubeproxy_sync_partial_proxy_rules_duration_seconds")};
  HistogramPerIpFamily select_duration{histograms("sluice_sync_select_duration_seconds")};
  HistogramPerIpFamily apply_duration{histograms("sluice_sync_apply_duration_seconds")};
  HistogramPerIpFamily wait_duration{histograms("sluice_sync_wait_duration_seconds")};
  GaugePerIpFamily sync_interval{gauges("sluice_sync_interval_seconds")};
  HistogramPerIpFamily kernel_duration{histograms("sluice_sync_kernel_duration_seconds")};
  HistogramPerIpFamily programming_duration{histograms("kubeproxy_network_programming_duration_seconds")};
  GaugePerIpFamily last_sync{gauges("kubeproxy_sync_proxy_rules_last_timestamp_seconds")};
  Histograms& conntrack_duration = histograms("kubeproxy_conntrack_reconciler_sync_duration_seconds");
  Counters& conntrack_deleted = counters("kubeproxy_conntrack_reconciler_deleted_entries_total");
  Counters& swaps = counters("sluice_swaps_total");
  Histograms& swap_duration = histograms("sluice_swap_seconds");
  Gauges& swap_wait = gauges("sluice_swap_longest_wait_seconds");
  Counters& healthz = counters("kubeproxy_proxy_healthz_total");
  Counters& livez = counters("kubeproxy_proxy_livez_total");
  Counters& reloads = counters("sluice_reloads_total");
  Gauges& start_phase = gauges("sluice_start_phase_seconds");
  Gauges& start = gauges("sluice_start_seconds");
  Gauges& last_reload_successful = gauges("sluice_config_last_reload_successful");
  Gauges& last_reload_success = gauges("sluice_config_last_reload_success_timestamp_seconds");
  Counters& requests = counters("rest_client_requests_total");
  Histograms& request_duration = histograms("rest_client_request_duration_seconds");
  Histograms& limiter_duration = histograms("rest_client_rate_limiter_duration_seconds");
  Counters& retries = counters("rest_client_request_retries_total");
  Histograms& request_size = histograms("rest_client_request_size_bytes");
  Histograms& answer_size = histograms("rest_client_response_size_bytes");
  Counters& pool_uses = counters("rest_client_transport_create_calls_total");
  prometheus::Gauge& pools_kept = gauges("rest_client_transport_cache_entries").Add({});
  Counters& ca_reloads = counters("rest_client_transport_ca_reload_total");
  Counters& exec_calls = counters("rest_client_exec_plugin_call_total");
  prometheus::Histogram& exec_rotation_age = add(histograms("rest_client_exec_plugin_certificate_rotation_age"), {});
  prometheus::Gauge& exec_ttl = gauges("rest_client_exec_plugin_ttl_seconds").Add({});
};

Metrics::Metrics() : recorded_(std::make_unique<Recorded>(registry_)) {
  // A start counts as a successful load.
  for (const auto outcome :
       {reload::ReloadOutcome::success, reload::ReloadOutcome::unchanged, reload::ReloadOutcome::failed}) {
    recorded_->reloads.Add({{"result", reload::reload_outcome_name(outcome)}});
  }
  recorded_->last_reload_successful.Add({}).Set(1);
  recorded_->last_reload_success.Add({}).Set(unix_seconds(std::chrono::system_clock::now()));
}

Metrics::~Metrics() = default;

void Metrics::conntrack_reconciled(lib::Family family, double seconds, std::uint64_t deleted) {
  const prometheus::Labels labels = family_label(family);
  add(recorded_->conntrack_duration, labels).Observe(seconds);
  recorded_->conntrack_deleted.Add(labels).Increment(static_cast<double>(deleted));
}

void Metrics::swapped(const std::string& from, const std::string& to, bool ok, double seconds,
                      double longest_wait_seconds) {
  recorded_->swaps.Add({{"from", from}, {"to", to}, {"result", ok ? "success" : "failed"}}).Increment();
  add(recorded_->swap_duration, {}).Observe(seconds);
  recorded_->swap_wait.Add({}).Set(longest_wait_seconds);
}

void Metrics::answered_healthz(int code) { recorded_->healthz.Add({{"code", std::to_string(code)}}).Increment(); }

void Metrics::answered_livez(int code) { recorded_->livez.Add({{"code", std::to_string(code)}}).Increment(); }

void Metrics::synced(lib::Family family, const sync::SyncReport& report) {
  Recorded& to = *recorded_;
  to.sync_duration[family].Observe(report.seconds);
  (report.full ? to.full_duration : to.partial_duration)[family].Observe(report.seconds);
  if (report.waited_seconds) to.wait_duration[family].Observe(*report.waited_seconds);
  to.sync_interval[family].Set(report.interval_seconds);
  to.select_duration[family].Observe(report.select_seconds);
  to.apply_duration[family].Observe(report.apply_seconds);
  if (report.kernel_seconds > 0) to.kernel_duration[family].Observe(report.kernel_seconds);
  if (!report.ok) return;
  to.last_sync[family].Set(unix_seconds(report.at));
  for (const auto trigger : report.trigger_times) {
    to.programming_duration[family].Observe(std::chrono::duration<double>(report.at - trigger).count());
  }
}

void Metrics::reloaded(const reload::ReloadResult& result) {
  recorded_->reloads.Add({{"result", reload::reload_outcome_name(result.outcome)}}).Increment();
  recorded_->last_reload_successful.Add({}).Set(result.ok() ? 1 : 0);
  if (result.ok()) recorded_->last_reload_success.Add({}).Set(unix_seconds(result.at));
}

void Metrics::started(const StartReport& report) {
  for (const StartPhase& phase : report.phases) {
    recorded_->start_phase.Add({{"phase", std::string(phase.name)}}).Set(phase.seconds);
  }
  recorded_->start.Add({}).Set(report.whole_seconds);
}

void Metrics::answered(const kube::AnsweredRequest& request) {
  const std::string code = request.status == 0 ? "<error>" : std::to_string(request.status);
  const std::string host(request.host);
  const std::string verb(request.method);
  const prometheus::Labels labels{{"host", host}, {"verb", verb}};
  recorded_->requests.Add({{"code", code}, {"host", host}, {"method", verb}}).Increment();
  if (request.again) recorded_->retries.Add({{"code", code}, {"host", host}, {"verb", verb}}).Increment();
  add(recorded_->request_duration, labels).Observe(request.seconds);
  if (request.request_bytes) add(recorded_->request_size, labels).Observe(static_cast<double>(*request.request_bytes));
  if (request.answer_bytes) add(recorded_->answer_size, labels).Observe(static_cast<double>(*request.answer_bytes));
}

void Metrics::waited(std::string_view host, std::string_view method, double seconds) {
  add(recorded_->limiter_duration, {{"host", std::string(host)}, {"verb", std::string(method)}}).Observe(seconds);
}

void Metrics::pool_used(kube::PoolUse use) {
  static constexpr std::array kResults{"hit", "miss", "uncacheable"};  // by kube::PoolUse
  recorded_->pool_uses.Add({{"result", kResults[static_cast<std::size_t>(use)]}}).Increment();
}

void Metrics::pools_kept(int change) { recorded_->pools_kept.Increment(change); }

void Metrics::exec_plugin_called(int code, std::string_view status) {
  recorded_->exec_calls.Add({{"call_status", std::string(status)}, {"code", std::to_string(code)}}).Increment();
}

void Metrics::exec_certificate_expires(const void* plugin, std::optional<std::chrono::system_clock::time_point> when) {
  const lib::Lock lock(mutex_);
  if (when) {
    certificates_[plugin] = *when;
  } else {
    certificates_.erase(plugin);
  }
}

void Metrics::exec_certificate_rotated(double age_seconds) { recorded_->exec_rotation_age.Observe(age_seconds); }

void Metrics::ca_reloaded(bool success, std::string_view reason) {
  recorded_->ca_reloads.Add({{"reason", std::string(reason)}, {"result", success ? "success" : "failure"}}).Increment();
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
  recorded_->exec_ttl.Set(shortest_ttl());
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
