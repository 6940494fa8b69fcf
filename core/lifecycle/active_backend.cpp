// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/active_backend.hpp"

#include <algorithm>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/base/memory.hpp"
#include "core/config/mode_table.hpp"
#include "core/conntrack/reconciler.hpp"
#include "core/lifecycle/served_family.hpp"
#include "core/observe/events/node_events.hpp"

namespace sluice::lifecycle {

// What the daemon itself does in one family.
class ActiveBackend::Family final : public ServedFamilyObserver {
 public:
  Family(lib::Family family, const Dependencies& dependencies)
      : family_(family),
        service_health_(dependencies.service_health),
        conntrack_(options(family, dependencies), std::make_unique<conntrack::KernelConntrackTable>()),
        served_(*this) {
    conntrack_.start();
  }

  ServedFamily& served() { return served_; }
  bool settled() const { return conntrack_.settled(); }
  void stop() { conntrack_.stop(); }

  // ServedFamilyObserver
  void health(HealthChanged event) override {
    service_health_.set_addresses(
        family_, event.node.node_ports_match_all ? std::nullopt : std::optional(event.node.node_port_addresses));
    service_health_.set(family_, std::move(event.updates));
  }
  void flows(conntrack::UdpChange change) override { conntrack_.put(std::move(change)); }
  void writing(bool begins) override { conntrack_.set_writing(begins); }
  void old_backends(conntrack::OldBackends statement) override {
    conntrack_.set_old_backends(std::move(statement));
  }

 private:
  static conntrack::ConntrackReconciler::Options options(lib::Family family, const Dependencies& dependencies) {
    conntrack::ConntrackReconciler::Options out;
    out.family = family;
    out.memory_file =
        dependencies.folder + (family == lib::Family::ipv4 ? "/udp-frontends-ipv4" : "/udp-frontends-ipv6");
    out.reconciled = [&metrics = dependencies.metrics, family](double seconds, std::uint64_t deleted) {
      metrics.conntrack_reconciled(family, seconds, deleted);
    };
    return out;
  }

  const lib::Family family_;
  observe::ServiceHealthServer& service_health_;
  conntrack::ConntrackReconciler conntrack_;
  ServedFamily served_;
};

ActiveBackend::ActiveBackend(Dependencies dependencies) : dependencies_(std::move(dependencies)) {}

ActiveBackend::~ActiveBackend() { stop(); }

void ActiveBackend::make_active(std::shared_ptr<BackendRun> next) {
  const lib::Lock lock(mutex_);
  run_ = std::move(next);
}

void ActiveBackend::open(const std::vector<lib::Family>& families) {
  const auto first = active_run();
  for (const lib::Family family : families) {
    families_[lib::family_index(family)] = std::make_unique<Family>(family, dependencies_);
    served(family).serve(first->id(), first->plugin().has(abi::kFeatureOwnConnections));
  }
  const lib::Lock lock(mutex_);
  awaited_ = families;
}

void ActiveBackend::stop() {
  first_syncs_.close();
  if (const auto now = active_run()) now->stop();
  for (const auto& family : families_) {
    if (family) family->stop();
  }
}

std::shared_ptr<BackendRun> ActiveBackend::active_run() const {
  const lib::Lock lock(mutex_);
  return run_;
}

std::vector<ActiveBackend::Starting> ActiveBackend::starting() const {
  const lib::Lock lock(mutex_);
  return starting_;
}

bool ActiveBackend::is_active(RunId id) const {
  const auto now = active_run();
  return now && now->id() == id;
}

ServedFamily& ActiveBackend::served(lib::Family family) { return families_[lib::family_index(family)]->served(); }

void ActiveBackend::serve(std::shared_ptr<BackendRun> next, const Claims& claims) {
  const auto now = next;
  for (const auto& of : now->families()) {
    served(of->family).serve(now->id(), now->plugin().has(abi::kFeatureOwnConnections));
  }
  make_active(std::move(next));
  // The new backend has synced. If the first backend never did, this completes the start.
  for (const auto& of : now->families()) {
    claimed({{now->id(), now->plugin().id(), of->family}, claims[lib::family_index(of->family)]});
  }
}

void ActiveBackend::report_swap(const SwapResult& result) {
  if (result.status.ok()) warn_deprecated(result.to);
  dependencies_.metrics.swapped(result.from, result.to, result.status.ok(), result.seconds,
                                result.longest_wait_seconds);
}

void ActiveBackend::warn_deprecated(const std::string& backend) {
  const config::ModeFacts& mode = config::mode_facts(backend);
  if (mode.deprecation.empty()) return;
  const auto event = observe::deprecation_event(dependencies_.node_name, mode);
  base::log(base::message::kModeDeprecated, event.note, {{"backend", backend}});
  dependencies_.events.record(event);
}

void ActiveBackend::add_leftover(const BackendRun& run) {
  for (const auto& of : run.families()) {
    served(of->family).add_leftover(run.id(), run.plugin().has(abi::kFeatureOwnConnections));
  }
}

void ActiveBackend::ending(const BackendRun& run) {
  for (const auto& of : run.families()) served(of->family).ending(run.id());
}

void ActiveBackend::gone(const BackendRun& run) {
  for (const auto& of : run.families()) served(of->family).gone(run.id());
}

bool ActiveBackend::settled(const BackendRun& run) const {
  return std::all_of(run.families().begin(), run.families().end(),
                     [this](const auto& of) { return families_[lib::family_index(of->family)]->settled(); });
}

// Only the first sync of each family matters.
void ActiveBackend::claimed(const sync::Claimed& event) {
  {
    const lib::Lock lock(mutex_);
    if (!run_ || run_->id() != event.loop.run || std::erase(awaited_, event.loop.family) == 0) return;
  }
  first_syncs_.put({event.loop.family, event.claims});
}

void ActiveBackend::writing(const sync::Writing& event) {
  if (event.begins) dependencies_.start_trace.taken(event.loop.family);
  served(event.loop.family).writing(event.loop.run, event.begins);
}

void ActiveBackend::applied(const sync::Applied& event) {
  dependencies_.start_trace.applied(event.loop.family);
  served(event.loop.family).applied(event.loop.run, event.transaction);
  // Memory use peaks at a full transaction, and is low for long afterwards.
  if (event.transaction.full) base::release_free_memory();
}

void ActiveBackend::synced(const sync::Synced& event) {
  if (is_active(event.loop.run)) dependencies_.metrics.synced(event.loop.family, event.report);
}

void ActiveBackend::not_programmed(const sync::PortNotProgrammed& event) {
  if (is_active(event.loop.run)) {
    dependencies_.events.record(observe::not_programmed_event(event.loop.backend, event.failed));
  }
}

// apply() and retire() follow open(). A plugin may report ports earlier, although the contract forbids it; they are
// ignored.
void ActiveBackend::relayed(const sync::PortRelayed& event) {
  if (families_[lib::family_index(event.loop.family)]) {
    served(event.loop.family).relays(event.loop.run, event.port);
  }
}

void ActiveBackend::call_started(const sync::CallStarted& event) {
  const lib::Lock lock(mutex_);
  std::erase_if(starting_, [&](const Starting& one) {
    return one.loop.run == event.loop.run && one.loop.family == event.loop.family;
  });
  if (!event.call.empty()) starting_.push_back({event.loop, std::string(event.call), dependencies_.clock.now()});
}

void ActiveBackend::reported(const sync::EventReported& event) {
  dependencies_.events.record(observe::backend_event(dependencies_.node_name, event.loop.backend, event.severity,
                                                     event.reason, event.note, event.regarding));
}

}  // namespace sluice::lifecycle
