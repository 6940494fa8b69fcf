// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/backend_swaps.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/lifecycle/run_records.hpp"
#include "core/plugin/lookup.hpp"
#include "lib/sha256.hpp"

namespace sluice::lifecycle {

BackendSwaps::BackendSwaps(StateDir& state_dir, RunMaker& runs, ActiveBackend& active, RetiringBackends& retiring,
                           LeftoverState& leftover, const lib::Clock& clock)
    : state_dir_(state_dir),
      runs_(runs),
      active_(active),
      retiring_(retiring),
      leftover_(leftover),
      swapper_(Swapper::Timeouts(), *this, retiring.retirement(), clock) {}

bool BackendSwaps::wanted(const config::Settings& to) const {
  const auto run = active_.active_run();
  if (run->plugin().id() != to.backend) return true;
  const auto options = to.backend_options();
  const auto differs = [&](const auto& of) {
    return run->settings().backend[lib::family_index(of->family)].options != options;
  };
  if (std::any_of(run->families().begin(), run->families().end(), differs)) return true;
  const plugin::Folders folders(to.plugins.folders.begin(), to.plugins.folders.end());
  const auto file = plugin::find_plugin(folders, to.backend);
  if (!file) return true;  // the swap reports the error
  const auto sum = lib::file_sha256(file->string());
  return !sum || *sum != run->plugin().sha256();
}

SwapResult BackendSwaps::swap(const config::Settings& to, SwapHooks& hooks) {
  auto result = swapper_.swap(to, hooks);
  active_.report_swap(result);
  return result;
}

lib::Result<std::shared_ptr<const plugin::Plugin>> BackendSwaps::load(const config::Settings& to) {
  return runs_.load(to.plugins, to.backend);
}

lib::Result<BackendRun::Settings> BackendSwaps::run_settings(const config::Settings& to) {
  return runs_.run_settings(to);
}

std::shared_ptr<BackendRun> BackendSwaps::make(BackendRun::Settings of_run) { return runs_.make(std::move(of_run)); }

std::shared_ptr<BackendRun> BackendSwaps::active_run() const { return active_.active_run(); }

lib::Status BackendSwaps::record_arriving(const BackendRun& run, const Claims& claims) {
  leftover_.keep(run, claims);
  return try_record_run(state_dir_, run, claims, ownership::ClaimState::arriving);
}

void BackendSwaps::serve(std::shared_ptr<BackendRun> run, const Claims& claims) {
  record_run(state_dir_, *run, claims, ownership::ClaimState::serving);
  active_.serve(std::move(run), claims);
}

void BackendSwaps::record_retiring(const BackendRun& run, const Claims& claims,
                                   std::chrono::system_clock::time_point until) {
  record_run(state_dir_, run, claims, ownership::ClaimState::retiring, until);
}

void BackendSwaps::forget_arriving(const BackendRun& run) { retiring_.forget(run, {ownership::ClaimState::arriving}); }

}  // namespace sluice::lifecycle
