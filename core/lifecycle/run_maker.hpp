// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Makes the runs of backends: loads the plugin, and gives the run its settings, its id and what it uses. Starts the
// first run.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "core/config/settings.hpp"
#include "core/lifecycle/backend_run.hpp"
#include "core/lifecycle/state_dir.hpp"
#include "lib/status.hpp"

namespace sluice::lifecycle {

// The intervals of the loops of a run.
sync::SyncLoop::Options loop_options(const config::Settings& settings);

class RunMaker {
 public:
  // All must outlive it.
  RunMaker(StateDir& state_dir, const BackendRun::Environment& environment)
      : state_dir_(state_dir), environment_(environment) {}

  // [any thread] Loads the plugin of a backend from its own copy of the file.
  lib::Result<std::shared_ptr<const plugin::Plugin>> load(const config::PluginSettings& plugins,
                                                          const std::string& id) const;
  // [any thread] The settings of a run, without plugin and families.
  lib::Result<BackendRun::Settings> run_settings(const config::Settings& configured);
  // [any thread]
  std::shared_ptr<BackendRun> make(BackendRun::Settings settings) const;

  struct Started {
    std::shared_ptr<BackendRun> run;
    std::array<lib::Status, 2> families;  // by family_index
  };
  // Creates and probes the configured backend.
  lib::Result<Started> start(const config::Settings& configured, std::shared_ptr<const plugin::Plugin> plugin);

 private:
  StateDir& state_dir_;
  const BackendRun::Environment environment_;
  std::atomic<RunId> last_id_{0};
};

}  // namespace sluice::lifecycle
