// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/metrics_reporter.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "plugins/common/process/signals_blocked.hpp"
#include "plugins/userspace/relay/event_loop.hpp"
#include "plugins/userspace/relay/statistics.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::userspace {
namespace {

using Field = Counter ThreadStatistics::*;

struct Figure {
  abi::MetricKind kind;
  std::string_view name;
  std::string_view labels;
  Field field;
};

constexpr abi::MetricKind kTotal = abi::MetricKind::kCounterAdd;
constexpr abi::MetricKind kNow = abi::MetricKind::kGaugeSet;
using S = ThreadStatistics;

// docs/operations.md has them all.
constexpr auto kFigures = std::to_array<Figure>({
    {kNow, "sluice_userspace_connections", "", &S::open},
    {kTotal, "sluice_userspace_connections_accepted_total", "", &S::accepted},
    {kTotal, "sluice_userspace_connections_failed_total", "reason=\"no_endpoint\"", &S::refused_no_endpoint},
    {kTotal, "sluice_userspace_connections_failed_total", "reason=\"no_answer\"", &S::failed_all_dials},
    {kTotal, "sluice_userspace_connections_broken_total", "reason=\"reset\"", &S::ended_reset},
    {kTotal, "sluice_userspace_connections_broken_total", "reason=\"idle\"", &S::ended_idle},
    {kTotal, "sluice_userspace_connections_broken_total", "reason=\"drained\"", &S::ended_drained},
    {kTotal, "sluice_userspace_dials_total", "", &S::dials},
    {kTotal, "sluice_userspace_dials_failed_total", "", &S::dials_failed},
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

using Told = std::array<std::uint64_t, kFigures.size()>;  // of kFigures

// Reporters of this process, in the order they came, behind them those that have yielded; the first one speaks for all
// engines.
struct Crew {
  std::mutex mutex;
  std::vector<const MetricsReporter*> members;
  std::multiset<std::shared_ptr<Engine>> engines;
  std::map<const Engine*, Told> told;
};

Crew& crew() {
  static Crew all;
  return all;
}

}  // namespace

MetricsReporter::MetricsReporter(abi::Host& host, abi::Family family, std::shared_ptr<Engine> engine,
                                 std::chrono::milliseconds interval, bool beside_predecessor)
    : host_(host),
      family_label_(family == abi::Family::kIpv6 ? "ip_family=\"IPv6\"" : "ip_family=\"IPv4\""),
      engine_(std::move(engine)),
      interval_(interval),
      waiting_(beside_predecessor) {
  {
    const std::lock_guard lock(crew().mutex);
    crew().members.push_back(this);
    crew().engines.insert(engine_);
  }
  const process::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

MetricsReporter::~MetricsReporter() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
  report_engines();  // whoever leads: its engine may end with it
  const std::lock_guard lock(crew().mutex);
  std::erase(crew().members, this);
  crew().engines.erase(crew().engines.find(engine_));
  if (!crew().engines.contains(engine_)) crew().told.erase(engine_.get());
}

void MetricsReporter::add(const FacePtr& face) {
  const std::lock_guard lock(mutex_);
  faces_.insert(face);
}

void MetricsReporter::remove(const FacePtr& face) {
  const std::lock_guard lock(mutex_);
  faces_.erase(face);
}

void MetricsReporter::set_portals(std::size_t portals, std::size_t claims, std::size_t conflicts) {
  const std::lock_guard lock(mutex_);
  portals_ = portals;
  claims_ = claims;
  conflicts_ = conflicts;
}

bool MetricsReporter::leads() const {
  const std::lock_guard lock(crew().mutex);
  return !crew().members.empty() && crew().members.front() == this;
}

void MetricsReporter::yield() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(yielded_, true)) return;
  }
  const std::lock_guard lock(crew().mutex);
  auto& members = crew().members;
  const auto own = std::find(members.begin(), members.end(), this);
  std::rotate(own, own + 1, members.end());
}

void MetricsReporter::resume() {
  const std::lock_guard lock(mutex_);
  yielded_ = false;
}

bool MetricsReporter::tells_gauges() {
  const std::lock_guard lock(mutex_);
  return !waiting_ && !yielded_;
}

void MetricsReporter::run() {
  report();
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval_, [this] { return ending_; })) {
    waiting_ = false;
    lock.unlock();
    report();
    lock.lock();
  }
}

void MetricsReporter::report() {
  const std::lock_guard lock(telling_);
  report_family();
  if (leads()) report_engines();
}

void MetricsReporter::report_family() {
  if (!tells_gauges()) return;
  const Nanoseconds now = EventLoop::clock();
  std::size_t clients = 0;
  std::size_t passed_over = 0;
  std::unique_lock lock(mutex_);
  for (const FacePtr& face : faces_) {
    clients += face->balancer().affinity_clients();
    passed_over += face->balancer().passed_over(now);
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
  const bool gauges = tells_gauges();
  const std::lock_guard lock(crew().mutex);
  const std::set<std::shared_ptr<Engine>> engines(crew().engines.begin(), crew().engines.end());
  for (std::size_t i = 0; i < kFigures.size(); ++i) {
    const Figure& figure = kFigures[i];
    std::uint64_t sum = 0;
    for (const auto& engine : engines) {
      std::uint64_t value = 0;
      for (const auto& thread : engine->statistics()) value += ((*thread).*figure.field).get();
      std::uint64_t& told = crew().told[engine.get()][i];
      sum += figure.kind == kTotal ? value - told : value;
      told = value;
    }
    if (figure.kind == kTotal || gauges) tell(figure.kind, figure.name, figure.labels, static_cast<double>(sum));
  }
}

void MetricsReporter::gauge(std::string_view name, std::size_t value) const {
  tell(abi::MetricKind::kGaugeSet, name, family_label_, static_cast<double>(value));
}

void MetricsReporter::tell(abi::MetricKind kind, std::string_view name, std::string_view labels, double value) const {
  host_.metric(kind, sdk::view(name), sdk::view(labels), value);
}

}  // namespace sluice::userspace
