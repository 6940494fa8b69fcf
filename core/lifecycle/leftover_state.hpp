// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Leftover state of earlier processes and of other proxies. After the first sync of all families, its thread retires
// the state of backends whose plugin is installed, and the generic removers remove the rest in the background.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/cleanup/startup_cleanup.hpp"
#include "core/config/settings.hpp"
#include "core/lifecycle/active_backend.hpp"
#include "core/lifecycle/descriptor_keeper.hpp"
#include "core/lifecycle/retiring_backends.hpp"
#include "core/lifecycle/run_maker.hpp"
#include "core/lifecycle/state_dir.hpp"
#include "lib/clock.hpp"

namespace sluice::lifecycle {

class LeftoverState {
 public:
  // All must outlive it.
  LeftoverState(StateDir& state_dir, RunMaker& runs, ActiveBackend& active, RetiringBackends& retiring,
                DescriptorKeeper& descriptors);
  ~LeftoverState();  // stops
  LeftoverState(const LeftoverState&) = delete;
  LeftoverState& operator=(const LeftoverState&) = delete;

  // Finds leftover state, and starts the thread that waits for the first sync of these families.
  void start(const config::Settings& settings, const std::vector<lib::Family>& families);
  // Waits for a backend that is created and probed.
  void stop();

  // [thread of a swap] Never removes artifacts of this run from now on. REQUIRES: started
  void keep(const BackendRun& run, const Claims& claims);

 private:
  void find(const std::vector<lib::Family>& families);
  void wait_for_first_syncs(std::size_t families);
  void retire_all();
  void retire(const std::string& backend, const std::vector<cleanup::LeftoverBackend>& found);
  void drop_descriptors();
  void removed(const cleanup::LeftoverBackend& gone);

  StateDir& state_dir_;
  RunMaker& runs_;
  ActiveBackend& active_;
  RetiringBackends& retiring_;
  DescriptorKeeper& descriptors_;
  config::Settings settings_;                         // of start()
  std::vector<cleanup::LeftoverBackend> backends_;    // used by thread_ once it runs
  std::unique_ptr<cleanup::StartupCleanup> cleanup_;  // set by start()
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace sluice::lifecycle
