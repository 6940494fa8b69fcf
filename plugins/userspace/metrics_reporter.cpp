// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/metrics_reporter.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/signals_blocked.hpp"
#include "plugins/userspace/declared_metrics.hpp"
#include "plugins/userspace/relay/event_loop.hpp"
#include "plugins/userspace/relay/statistics.hpp"

namespace sluice::userspace {
namespace {

using Field = Counter ThreadStatistics::*;

struct Metric {
  const abi::MetricSpec& spec;
  std::array<std::string_view, 2> labels;  // empty: none
  Field field;

  bool is_total() const { return spec.metric_type == abi::MetricType::kCounter; }
  sdk::Series series(const sdk::Metrics& metrics) const {
    if (labels[0].empty()) return metrics.series(spec);
    return labels[1].empty() ? metrics.series(spec, {labels[0]}) : metrics.series(spec, {labels[0], labels[1]});
  }
};

using S = ThreadStatistics;

constexpr auto kMetrics = std::to_array<Metric>({
    {metric::kConnections, {}, &S::open},
    {metric::kConnectionsAccepted, {}, &S::accepted},
    {metric::kConnectionsFailed, {"no_endpoint"}, &S::refused_no_endpoint},
    {metric::kConnectionsFailed, {"no_answer"}, &S::failed_all_dials},
    {metric::kConnectionsBroken, {"reset"}, &S::ended_reset},
    {metric::kConnectionsBroken, {"idle"}, &S::ended_idle},
    {metric::kConnectionsBroken, {"drained"}, &S::ended_drained},
    {metric::kDials, {}, &S::dials},
    {metric::kDialsFailed, {}, &S::dials_failed},
    {metric::kClientAddresses, {"kept"}, &S::clients_kept},
    {metric::kClientAddresses, {"masqueraded"}, &S::clients_hidden},
    {metric::kClientAddresses, {"failed"}, &S::clients_lost},
    {metric::kBytes, {"tcp", "endpoint"}, &S::bytes_to_endpoint},
    {metric::kBytes, {"tcp", "client"}, &S::bytes_to_client},
    {metric::kBytes, {"udp", "endpoint"}, &S::udp_bytes_to_endpoint},
    {metric::kBytes, {"udp", "client"}, &S::udp_bytes_to_client},
    {metric::kPauses, {"descriptors"}, &S::pauses_descriptors},
    {metric::kPauses, {"memory"}, &S::pauses_memory},
    {metric::kPauses, {"ports"}, &S::pauses_ports},
    {metric::kPauses, {"limit"}, &S::pauses_limit},
    {metric::kPausedThreads, {}, &S::paused},
    {metric::kPipes, {}, &S::pipes},
    {metric::kUdpClients, {}, &S::udp_clients},
    {metric::kUdpClientsOpened, {}, &S::udp_clients_opened},
    {metric::kUdpClientsEnded, {"expired"}, &S::udp_clients_expired},
    {metric::kUdpClientsEnded, {"evicted"}, &S::udp_clients_evicted},
    {metric::kUdpDatagrams, {"endpoint"}, &S::udp_to_endpoint},
    {metric::kUdpDatagrams, {"client"}, &S::udp_to_client},
    {metric::kUdpDropped, {"no_endpoint"}, &S::udp_dropped_no_endpoint},
    {metric::kUdpDropped, {"full"}, &S::udp_dropped_full},
    {metric::kUdpErrors, {}, &S::udp_errors},
});
static_assert(kMetrics.size() == MetricsReporter::kEngineSeries);

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

MetricsReporter::MetricsReporter(const sdk::Metrics& metrics, std::shared_ptr<Engine> engine,
                                 std::chrono::milliseconds interval, bool beside_old_backend)
    : metrics_(metrics),
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
  if (!gauges_) {
    gauges_ = {metrics_.series(metric::kAffinityClients), metrics_.series(metric::kEndpointsPassedOver),
               metrics_.series(metric::kPortals), metrics_.series(metric::kClaims),
               metrics_.series(metric::kClaimConflicts)};
  }
  gauges_->affinity_clients.set(static_cast<double>(clients));
  gauges_->endpoints_passed_over.set(static_cast<double>(passed_over));
  gauges_->portals.set(static_cast<double>(portals));
  gauges_->claims.set(static_cast<double>(claims));
  gauges_->claim_conflicts.set(static_cast<double>(conflicts));
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
      sum += metric.is_total() ? value - reported : value;
      reported = value;
    }
    if (!metric.is_total() && !gauges) continue;
    std::optional<sdk::Series>& series = engine_series_[i];
    if (!series) series = metric.series(metrics_);
    if (metric.is_total()) {
      series->add(static_cast<double>(sum));
    } else {
      series->set(static_cast<double>(sum));
    }
  }
}

}  // namespace sluice::userspace
