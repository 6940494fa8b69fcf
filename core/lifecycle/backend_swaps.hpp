// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Swaps of the active backend: records them in the ownership ledger, makes the new backend active, and reports the
// result.
#pragma once

#include <memory>

#include "core/config/settings.hpp"
#include "core/lifecycle/active_backend.hpp"
#include "core/lifecycle/leftover_state.hpp"
#include "core/lifecycle/retiring_backends.hpp"
#include "core/lifecycle/run_maker.hpp"
#include "core/lifecycle/state_dir.hpp"
#include "core/lifecycle/swapper.hpp"
#include "lib/clock.hpp"

namespace sluice::lifecycle {

class BackendSwaps final : private Swapper::Host {
 public:
  // All must outlive it.
  BackendSwaps(StateDir& state_dir, RunMaker& runs, ActiveBackend& active, RetiringBackends& retiring,
               LeftoverState& leftover, const lib::Clock& clock);

  // Whether `to` names another backend, other options, or a plugin file whose content has changed.
  bool wanted(const config::Settings& to) const;
  // [reload thread] Called while a reload prepares, because a swap can fail. Blocks until the new backend is active and
  // retire() of the old backend was called, or the swap is rolled back.
  SwapResult swap(const config::Settings& to, SwapHooks& hooks);
  void cancel() { swapper_.stop(); }                               // any thread
  SwapProgress progress() const { return swapper_.progress(); }  // any thread

 private:
  // Swapper::Host
  lib::Result<std::shared_ptr<const plugin::Plugin>> load(const config::Settings& to) override;
  lib::Result<BackendRun::Settings> run_settings(const config::Settings& to) override;
  std::shared_ptr<BackendRun> make(BackendRun::Settings of_run) override;
  std::shared_ptr<BackendRun> active_run() const override;
  lib::Status record_arriving(const BackendRun& run, const Claims& claims) override;
  void serve(std::shared_ptr<BackendRun> run, const Claims& claims) override;
  void record_retiring(const BackendRun& run, const Claims& claims,
                       std::chrono::system_clock::time_point until) override;
  void forget_arriving(const BackendRun& run) override;

  StateDir& state_dir_;
  RunMaker& runs_;
  ActiveBackend& active_;
  RetiringBackends& retiring_;
  LeftoverState& leftover_;
  Swapper swapper_;
};

}  // namespace sluice::lifecycle
