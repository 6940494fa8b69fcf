// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/metrics_reporter.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lib/signals_blocked.hpp"
#include "plugins/userspace/relay/event_loop.hpp"
#include "plugins/userspace/relay/statistics.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::userspace {
namespace {

using Field = Counter ThreadStatistics::*;

struct Metric {
  abi::MetricKind kind;
  std::string_view name;
  std::string_view labels;
  Field field;
};

constexpr abi::MetricKind kTotal = abi::MetricKind::kCounterAdd;
constexpr abi::MetricKind kNow = abi::MetricKind::kGaugeSet;
using S = ThreadStatistics;

// Documented in docs/reference/metrics.md.
constexpr auto kMetrics = std::to_array<Metric>({
    {kNow, "sluice_userspace_connections", "", &S::open},
    {kTotal, "sluice_userspace_connections_accepted_total", "", &S::accepted},
    {kTotal, "sluice_userspace_connections_failed_total", "reason=\"no_endpoint\"", &S::refused_no_endpoint},
    {kTotal, "sluice_userspace_connections_failed_total", "reason=\"no_answer\"", &S::failed_all_dials},
    {kTotal, "sluice_userspace_connections_broken_total", "reason=\"reset\"", &S::ended_reset},
    {kTotal, "sluice_userspace_connections_broken_total", "reason=\"idle\"", &S::ended_idle},
    {kTotal, "sluice_userspace_connections_broken_total", "reason=\"drained\"", &S::ended_drained},
    {kTotal, "sluice_userspace_dials_total", "", &S::dials},
    {kTotal, "sluice_userspace_dials_failed_total", "", &S::dials_failed},
    {kTotal, "sluice_userspace_client_addresses_total", "result=\"kept\"", &S::clients_kept},
    {kTotal, "sluice_userspace_client_addresses_total", "result=\"masqueraded\"", &S::clients_hidden},
    {kTotal, "sluice_userspace_client_addresses_total", "result=\"failed\"", &S::clients_lost},
    {kTotal, "sluice_userspace_bytes_total", "protocol=\"tcp\",towards=\"endpoint\"", &S::bytes_to_endpoint},
    {kTotal, "sluice_userspace_bytes_total", "protocol=\"tcp\",towards=\"client\"", &S::bytes_to_client},
    {kTotal, "sluice_userspace_bytes_total", "protocol=\"udp\",towards=\"endpoint\"", &S::udp_bytes_to_endpoint},
    {kTotal, "sluice_userspace_bytes_total", "protocol=\"udp\",towards=\"client\"", &S::udp_bytes_to_client},
    {kTotal, "sluice_userspace_pauses_total", "reason=\"descriptors\"", &S::pauses_descriptors},
    {kTotal, "sluice_userspace_pauses_total", "reason=\"memory\"", &S::pauses_memory},
    {kTotal, "sluice_userspace_pauses_total", "reason=\"ports\"", &S::pauses_ports},
    {kTotal, "sluice_userspace_pauses_total", "reason=\"limit\"", &S::pauses_limit},
    {kNow, "sluice_userspace_paused_threads", "", &S::paused},
    {kNow, "sluice_userspace_pipes", "", &S::pipes},
    {kNow, "sluice_userspace_udp_clients", "", &S::udp_clients},
    {kTotal, "sluice_userspace_udp_clients_opened_total", "", &S::udp_clients_opened},
    {kTotal, "sluice_userspace_udp_clients_ended_total", "reason=\"expired\"", &S::udp_clients_expired},
    {kTotal, "sluice_userspace_udp_clients_ended_total", "reason=\"evicted\"", &S::udp_clients_evicted},
    {kTotal, "sluice_userspace_udp_datagrams_total", "towards=\"endpoint\"", &S::udp_to_endpoint},
    {kTotal, "sluice_userspace_udp_datagrams_total", "towards=\"client\"", &S::udp_to_client},
    {kTotal, "sluice_userspace_udp_dropped_total", "reason=\"no_endpoint\"", &S::udp_dropped_no_endpoint},
    {kTotal, "sluice_userspace_udp_dropped_total", "reason=\"full\"", &S::udp_dropped_full},
    {kTotal, "sluice_userspace_udp_errors_total", "", &S::udp_errors},
});

using ReportedValues = std::array<std::uint64_t, kMetrics.size()>;  // of kMetrics

// The reporters of this process in order of creation, those that yielded last. The first one reports all engines.
struct Reporters {
  lib::Mutex mutex;
  std::vector<const MetricsReporter*> members SLUICE_GUARDED_BY(mutex);
  std::multiset<std::shared_ptr<Engine>> engines SLUICE_GUARDED_BY(mutex);
  std::map<const Engine*, ReportedValues> reported SLUICE_GUARDED_BY(mutex);
};

Reporters& reporters() {
  static Reporters all;
  return all;
}

}  // namespace

MetricsReporter::MetricsReporter(abi::Host& host, abi::Family family, std::shared_ptr<Engine> engine,
                                 std::chrono::milliseconds interval, bool beside_old_backend)
    : host_(host),
      family_label_(family == abi::Family::kIpv6 ? "ip_family=\"IPv6\"" : "ip_family=\"IPv4\""),
      engine_(std::move(engine)),
      interval_(interval),
      waiting_(beside_old_backend) {
  {
    const lib::Lock lock(reporters().mutex);
    reporters().members.push_back(this);
    reporters().engines.insert(engine_);
  }
  const lib::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

MetricsReporter::~MetricsReporter() {
  {
    const lib::Lock lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
  report_engines();  // even if another reporter leads: the engine may end with this one
  const lib::Lock lock(reporters().mutex);
  std::erase(reporters().members, this);
  reporters().engines.erase(reporters().engines.find(engine_));
  if (!reporters().engines.contains(engine_)) reporters().reported.erase(engine_.get());
}

void MetricsReporter::add(const ListenerPtr& listener) {
  const lib::Lock lock(mutex_);
  listeners_.insert(listener);
}

void MetricsReporter::remove(const ListenerPtr& listener) {
  const lib::Lock lock(mutex_);
  listeners_.erase(listener);
}

void MetricsReporter::set_portals(std::size_t portals, std::size_t claims, std::size_t conflicts) {
  const lib::Lock lock(mutex_);
  portals_ = portals;
  claims_ = claims;
  conflicts_ = conflicts;
}

bool MetricsReporter::is_leader() const {
  const lib::Lock lock(reporters().mutex);
  return !reporters().members.empty() && reporters().members.front() == this;
}

void MetricsReporter::yield() {
  {
    const lib::Lock lock(mutex_);
    if (std::exchange(yielded_, true)) return;
  }
  const lib::Lock lock(reporters().mutex);
  auto& members = reporters().members;
  const auto own = std::find(members.begin(), members.end(), this);
  std::rotate(own, own + 1, members.end());
}

void MetricsReporter::resume() {
  const lib::Lock lock(mutex_);
  yielded_ = false;
}

bool MetricsReporter::reports_gauges() {
  const lib::Lock lock(mutex_);
  return !waiting_ && !yielded_;
}

void MetricsReporter::run() {
  report();
  const lib::Lock lock(mutex_);
  for (;;) {
    const auto until = std::chrono::steady_clock::now() + interval_;
    while (!ending_ && wake_.wait_until(mutex_, until)) {
    }
    if (ending_) return;
    waiting_ = false;
    const lib::Unlock unlock(mutex_);
    report();
  }
}

void MetricsReporter::report() {
  const lib::Lock lock(report_mutex_);
  report_family();
  if (is_leader()) report_engines();
}

void MetricsReporter::report_family() {
  if (!reports_gauges()) return;
  const Nanoseconds now = EventLoop::clock();
  std::size_t clients = 0;
  std::size_t passed_over = 0;
  lib::UniqueLock lock(mutex_);
  for (const ListenerPtr& listener : listeners_) {
    clients += listener->balancer().affinity_clients();
    passed_over += listener->balancer().passed_over(now);
  }
  const std::size_t portals = portals_;
  const std::size_t claims = claims_;
  const std::size_t conflicts = conflicts_;
  lock.unlock();
  gauge("sluice_userspace_affinity_clients", clients);
  gauge("sluice_userspace_endpoints_passed_over", passed_over);
  gauge("sluice_userspace_portals", portals);
  gauge("sluice_userspace_claims", claims);
  gauge("sluice_userspace_claim_conflicts", conflicts);
}

void MetricsReporter::report_engines() {
  const bool gauges = reports_gauges();
  const lib::Lock lock(reporters().mutex);
  const std::set<std::shared_ptr<Engine>> engines(reporters().engines.begin(), reporters().engines.end());
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    const Metric& metric = kMetrics[i];
    std::uint64_t sum = 0;
    for (const auto& engine : engines) {
      std::uint64_t value = 0;
      for (const auto& thread : engine->statistics()) value += ((*thread).*metric.field).get();
      std::uint64_t& reported = reporters().reported[engine.get()][i];
      sum += metric.kind == kTotal ? value - reported : value;
      reported = value;
    }
    if (metric.kind == kTotal || gauges) send(metric.kind, metric.name, metric.labels, static_cast<double>(sum));
  }
}

void MetricsReporter::gauge(std::string_view name, std::size_t value) const {
  send(abi::MetricKind::kGaugeSet, name, family_label_, static_cast<double>(value));
}

void MetricsReporter::send(abi::MetricKind kind, std::string_view name, std::string_view labels, double value) const {
  host_.metric(kind, sdk::view(name), sdk::view(labels), value);
}

}  // namespace sluice::userspace
