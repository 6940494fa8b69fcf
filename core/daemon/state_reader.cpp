// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/state_reader.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/plugin/loader.hpp"

namespace sluice::daemon {

std::vector<observe::FamilyHealth> StateReader::family_health() const {
  std::vector<observe::FamilyHealth> out;
  const auto now = clock_.now();
  if (!complete_) {
    for (const auto& one : backends_.starting()) {
      const auto waits = now - one.since;
      observe::FamilyHealth family{
          .family = one.loop.family,
          .last_updated =
              std::chrono::system_clock::now() - std::chrono::duration_cast<std::chrono::system_clock::duration>(waits),
          .pending_for = waits,
          .running_for = waits,
          .error = one.call + " of backend " + one.loop.backend + " has not returned"};
      out.push_back(std::move(family));
    }
    return out;
  }
  const auto active = backends_.active_run();
  for (const auto& of : active->families()) {
    const auto fresh = of->loop->freshness();
    observe::FamilyHealth family{
        .family = of->family, .last_updated = fresh.last_updated, .last_synced = fresh.last_synced};
    if (fresh.pending_since) family.pending_for = now - *fresh.pending_since;
    if (fresh.begun) family.running_for = now - *fresh.begun;
    if (const auto overdue = of->loop->overdue(); !overdue.empty()) {
      family.error = std::string(overdue) + " takes longer than its limit";
    } else {
      family.error = of->loop->last_error();
    }
    out.push_back(std::move(family));
  }
  return out;
}

observe::ScrapeData StateReader::scrape_data() const {
  observe::ScrapeData out;
  out.events = reports_.events().statistics();
  const auto settings = settings_.get();
  out.features = observe::feature_states(*settings);
  out.kubernetes_version = observe::reported_kubernetes_version(*settings);
  if (!complete_) {
    // The servers start before the backend only if the backend hangs.
    for (const auto& one : backends_.starting()) {
      const std::chrono::duration<double> waits = clock_.now() - one.since;
      out.families.push_back({.family = one.loop.family, .oldest_pending_seconds = waits.count(), .overdue = true});
    }
    return out;
  }
  out.store = delivery_.store().statistics();
  out.resources = delivery_.source().status().resources;
  const auto now = clock_.now();
  const auto active = backends_.active_run();
  for (const auto& of : active->families()) {
    const auto fresh = of->loop->freshness();
    const auto since = fresh.last_synced ? fresh.pending_since : fresh.begun;
    const double pending = since ? std::chrono::duration<double>(now - *since).count() : 0.0;
    out.families.push_back({.family = of->family,
                            .loop = of->loop->statistics(),
                            .oldest_pending_seconds = pending,
                            .overdue = !of->loop->overdue().empty(),
                            .synced_once = fresh.last_synced.has_value()});
  }
  const auto add_plugin = [&](const plugin::Plugin& plugin) {
    const abi::PluginEntry& entry = plugin.entry();
    out.plugins.push_back(
        {plugin.id(), plugin.version(), std::to_string(entry.major) + "." + std::to_string(entry.minor)});
  };
  add_plugin(active->plugin());
  for (const auto& entry : backends_.retiring()) {
    const std::chrono::duration<double> overdue = std::max(now - entry.until, lib::Clock::Duration(0));
    out.retiring.push_back({entry.run->plugin().id(), overdue.count()});
  }
  return out;
}

std::vector<observe::ServiceView> StateReader::service_views() const {
  if (!complete_) throw std::runtime_error("the backend has not started yet");
  std::vector<observe::ServiceView> out;
  const auto active = backends_.active_run();
  for (const auto& of : active->families()) {
    observe::ServiceView view;
    view.family = of->family;
    view.backend = active->plugin().id();
    const std::weak_ptr<lifecycle::BackendRun> run = active;
    sync::SyncLoop* const loop = of->loop.get();
    if (loop->inspectable()) {
      view.inspect = [run, loop](sync::SyncLoop::Inspect question) {
        if (const auto there = run.lock()) loop->inspect(std::move(question));
      };
    }
    view.describe = [&store = delivery_.store(), subscription = of->subscription.load()](
                        snapshot::DescribeRequest request) { store.describe(subscription, std::move(request)); };
    view.in_progress = [run, loop]() -> std::string {
      const auto there = run.lock();
      return there ? std::string(loop->in_progress()) : std::string();
    };
    out.push_back(std::move(view));
  }
  return out;
}

Supervised StateReader::supervised() const {
  Supervised out;
  const SourceStatus source = delivery_.source().status();
  out.source = source.kind == config::SourceKind::manifests ? "manifests in " : "the API server ";
  if (source.kind == config::SourceKind::replay) out.source = "the recording ";
  out.source += source.detail;
  out.store = delivery_.store().status();
  const auto active = backends_.active_run();
  for (const auto& of : active->families()) {
    out.families.push_back({of->family, of->loop->status(), std::string(of->loop->overdue())});
  }
  return out;
}

}  // namespace sluice::daemon
