// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/leftover_state.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/cleanup/ipvs_connections.hpp"
#include "core/plugin/lookup.hpp"

namespace sluice::lifecycle {
namespace {

constexpr std::chrono::seconds kLeftoverStartTimeout{60};

}  // namespace

LeftoverState::LeftoverState(StateDir& state_dir, RunMaker& runs, ActiveBackend& active, RetiringBackends& retiring,
                             DescriptorKeeper& descriptors)
    : state_dir_(state_dir), runs_(runs), active_(active), retiring_(retiring), descriptors_(descriptors) {}

LeftoverState::~LeftoverState() { stop(); }

void LeftoverState::start(const config::Settings& settings, const std::vector<lib::Family>& families) {
  settings_ = settings;
  // Includes the same backend: an earlier plugin file may have left artifacts that this file does not claim.
  find(families);
  cleanup_->expect(families);
  thread_ = std::thread([this, count = families.size()] { wait_for_first_syncs(count); });
}

void LeftoverState::stop() {
  stopping_ = true;
  active_.first_syncs().close();
  if (thread_.joinable()) thread_.join();
  if (cleanup_) cleanup_->stop();
}

void LeftoverState::keep(const BackendRun& run, const Claims& claims) {
  for (const auto& of : run.families()) cleanup_->keep(of->family, claims[lib::family_index(of->family)]);
}

void LeftoverState::find(const std::vector<lib::Family>& families) {
  cleanup::StartupCleanup::Options options;
  options.drain = std::chrono::duration_cast<std::chrono::milliseconds>(settings_.drain_timeout);
  options.removed = [this](const cleanup::LeftoverBackend& gone) { removed(gone); };
  cleanup_ = std::make_unique<cleanup::StartupCleanup>(settings_.backend, std::move(options));
  cleanup::LeftoverInput input;
  input.ownership_ledger = state_dir_.claims();
  input.own = settings_.backend;
  const plugin::Folders folders(settings_.plugins.folders.begin(), settings_.plugins.folders.end());
  for (const std::string& id : plugin::available_plugins(folders)) input.installed.push_back(id);
  input.families = families;
  input.ipvs_in_use = cleanup::ipvs_in_use();
  input.drain = std::chrono::duration_cast<std::chrono::seconds>(settings_.drain_timeout);
  input.now = std::chrono::system_clock::now();
  backends_ = cleanup::find_leftover_backends(input);
  cleanup_->set_leftover_backends(backends_);
}

// [thread of the clean-up]
void LeftoverState::removed(const cleanup::LeftoverBackend& gone) {
  const bool again = retiring_.is_retiring(gone.backend);
  for (const ownership::ClaimState state : gone.states) {
    // The entry now belongs to a run of this process.
    if (state == ownership::ClaimState::retiring && again) continue;
    if (const auto status = state_dir_.forget(gone.backend, gone.family, state); !status.ok()) {
      base::log(base::message::kOwnershipLedgerNotUpdated, status.message(), {{"error", status.message()}});
    }
  }
}

// On its own thread, because the start of a backend would block an apply thread.
void LeftoverState::wait_for_first_syncs(std::size_t families) {
  auto& first_syncs = active_.first_syncs();
  while (families != 0) {
    const auto synced = first_syncs.take_all();
    if (stopping_ || synced.empty()) return;
    for (const auto& one : synced) {
      cleanup_->family_synced(one.family, one.claims);
      --families;
    }
  }
  retire_all();
  drop_descriptors();
}

void LeftoverState::retire_all() {
  std::map<std::string, std::vector<cleanup::LeftoverBackend>> by_backend;
  for (cleanup::LeftoverBackend& leftover : backends_) {
    if (leftover.by != cleanup::LeftoverBackend::By::plugin) continue;
    by_backend[leftover.backend].push_back(std::move(leftover));
  }
  for (const auto& [backend, found] : by_backend) {
    if (!stopping_) retire(backend, found);
  }
}

// Drops descriptors of backends that neither serve nor retire.
void LeftoverState::drop_descriptors() {
  const lib::Lock pause(retiring_.retirement().pause_mutex());  // also excludes a swap, during which a run is in neither list
  std::vector<std::string> in_use{active_.active_run()->plugin().id()};
  for (const auto& entry : retiring_.list()) in_use.push_back(entry.run->plugin().id());
  descriptors_.drop_unused(in_use);
}

// Retires leftover state of an earlier process with a new run that never serves.
void LeftoverState::retire(const std::string& backend, const std::vector<cleanup::LeftoverBackend>& found) {
  const auto failed = [&](const lib::Status& status) {
    base::log(base::message::kLeftoverRetireFailed,
              "cannot remove leftover state of backend " + backend + ": " + status.message() +
                  "; retry at the next start, or stop the daemon and run sluiced --cleanup",
              {{"backend", backend}, {"error", status.message()}});
  };
  auto loaded = runs_.load(settings_.plugins, backend);
  if (!loaded) return failed(loaded.status());
  config::Settings settings = settings_;
  settings.backend = backend;
  settings.mode_options.clear();
  auto of_run = runs_.run_settings(settings);
  if (!of_run) return failed(of_run.status());
  of_run->plugin = std::move(*loaded);
  of_run->loop.held = true;
  std::chrono::seconds drain{0};
  std::vector<ownership::ClaimState> states;
  for (const cleanup::LeftoverBackend& leftover : found) {
    of_run->families.push_back(leftover.family);
    drain = std::max(drain, leftover.drain);
    states.insert(states.end(), leftover.states.begin(), leftover.states.end());
  }
  auto made = runs_.make(std::move(*of_run));
  for (const auto& status : made->start(kLeftoverStartTimeout)) {
    if (status.ok()) continue;
    failed(status);
    // A run with a call in progress cannot be released yet.
    if (made->busy()) retiring_.retire_leftover(made, {}, lib::Clock::Duration(0));
    return;
  }
  base::log(base::message::kLeftoverRetiring,
            "retiring leftover state of backend " + backend + ": draining its connections for at most " +
                std::to_string(drain.count()) + " s",
            {{"backend", backend}, {"seconds", drain.count()}});
  if (stopping_) return;
  active_.add_leftover(*made);
  retiring_.retire_leftover(std::move(made), states, drain);
}

}  // namespace sluice::lifecycle
