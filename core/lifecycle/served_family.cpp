// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/served_family.hpp"

#include <utility>
#include <vector>

#include "lib/text.hpp"

namespace sluice::lifecycle {

void ServedFamily::writing(RunId id, bool begins) {
  const lib::Lock lock(mutex_);
  if (begins && id == serving_) {
    writing_ = id;
    observer_.writing(true);
  } else if (!begins && writing_ == id) {
    writing_.reset();
    observer_.writing(false);
  }
}

void ServedFamily::applied(RunId id, const snapshot::Transaction& transaction) {
  const lib::Lock lock(mutex_);
  Run& run = runs_[id];
  if (id == serving_) {
    take(run, transaction);
    return;
  }
  if (run.has_served) return;  // an old backend has nothing new to report
  if (transaction.full) run.waiting.clear();
  run.waiting.push_back(transaction);
}

void ServedFamily::take(Run& run, const snapshot::Transaction& transaction) {
  std::vector<observe::ServiceHealthUpdate> updates = health_.update(transaction);
  if (!updates.empty() || transaction.node != reported_node_) {
    reported_node_ = transaction.node;
    observer_.health({*transaction.node, std::move(updates)});
  }
  observer_.flows(run.flows.update(transaction));
}

void ServedFamily::relays(RunId id, plugin::RelayedPort port) {
  const lib::Lock lock(mutex_);
  Run& run = runs_[id];
  const bool relayed = run.flows.relays_any();
  run.flows.relays({{base::Symbol(port.name_space), std::move(port.service)}, base::Symbol(port.port_name)},
                   std::move(port.ports));
  if (id == serving_ || !run.serves_established || run.with_ipvs || !relayed || run.flows.relays_any()) return;
  run.serves_established = false;
  report_old_backends();
}

void ServedFamily::serve(RunId id, bool with_ipvs) {
  const lib::Lock lock(mutex_);
  if (const auto before = runs_.find(serving_); before != runs_.end()) {
    before->second.has_served = before->second.serves_established = true;
  }
  serving_ = id;
  Run& run = runs_[id];
  run.with_ipvs = with_ipvs;
  // Before the flows: the old backend still serves some of them.
  report_old_backends();
  for (const auto& transaction : std::exchange(run.waiting, {})) take(run, transaction);
}

void ServedFamily::add_leftover(RunId id, bool with_ipvs) {
  const lib::Lock lock(mutex_);
  Run& run = runs_[id];
  run.with_ipvs = with_ipvs;
  run.has_served = run.serves_established = true;
  report_old_backends();
}

void ServedFamily::ending(RunId id) {
  const lib::Lock lock(mutex_);
  const auto run = runs_.find(id);
  if (run == runs_.end() || !std::exchange(run->second.serves_established, false)) return;
  report_old_backends();
}

void ServedFamily::gone(RunId id) {
  const lib::Lock lock(mutex_);
  const auto run = runs_.find(id);
  if (run == runs_.end()) return;
  const bool served = run->second.serves_established;
  runs_.erase(run);
  if (served) report_old_backends();
}

void ServedFamily::report_old_backends() {
  conntrack::OldBackends out;
  for (const auto& [id, run] : runs_) {
    if (id == serving_ || !run.serves_established) continue;
    out.serve = true;
    out.ipvs = out.ipvs || run.with_ipvs;
    const auto ports = run.flows.relay_ports();
    out.relay_ports.insert(out.relay_ports.end(), ports.begin(), ports.end());
  }
  lib::sort_unique(out.relay_ports);
  observer_.old_backends(std::move(out));
}

}  // namespace sluice::lifecycle
