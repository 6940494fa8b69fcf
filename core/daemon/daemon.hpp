// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Connects settings, source, store thread, backends and control socket, then waits for a
// signal. Owns all of them.
#pragma once

#include <string>
#include <vector>

#include "core/base/notify.hpp"
#include "core/base/passed_descriptors.hpp"
#include "core/config/settings_cell.hpp"
#include "core/daemon/delivery.hpp"
#include "core/daemon/node_state.hpp"
#include "core/daemon/reloads.hpp"
#include "core/daemon/reports.hpp"
#include "core/daemon/servers.hpp"
#include "core/daemon/start_list.hpp"
#include "core/lifecycle/backends.hpp"
#include "core/lifecycle/descriptor_keeper.hpp"
#include "core/lifecycle/state_dir.hpp"
#include "core/reload/reloader.hpp"
#include "lib/clock.hpp"

namespace sluice::daemon {

class Daemon final : private NodeObserver {
 public:
  // `begun`: when main() began. `read_again` reads the settings for a reload. `passed`: descriptors stored by the
  // service manager.
  Daemon(lib::Clock::Time begun, config::Settings settings, reload::ReadSettings read_again, base::Notifier notifier,
         std::vector<base::PassedDescriptor> passed);
  ~Daemon() override;

  // Starts everything; stops all of it on failure. The source lists while the backend starts.
  lib::Status start();
  // Runs until SIGTERM or SIGINT. Rules stay in the kernel. SIGHUP requests a reload.
  lib::Status run();

 private:
  StartList parts();
  // NodeObserver
  void node_facts_changed() override { delivery_.store().refresh_node_facts(); }
  void conntrack_settings_failed(const std::vector<std::string>& sentences) override {
    reports_.conntrack_settings_failed(sentences);
  }
  snapshot::StoreThread::Callbacks store_callbacks();
  void use_holder();
  lib::Status start_backend();
  lib::Status check_pod_cidrs();

  config::SettingsCell settings_;
  const std::string node_name_;  // not changed by a reload
  const base::Notifier notifier_;
  const lib::SteadyClock clock_;
  const lib::Clock::Time started_ = clock_.now();
  lifecycle::StateDir state_dir_;
  Reports reports_;  // before all members that record metrics or events
  NodeState node_;
  Delivery delivery_;
  lifecycle::DescriptorKeeper descriptors_;
  lifecycle::Backends backends_;
  Servers servers_;
  Reloads reloads_;

  const StartList parts_;
};

}  // namespace sluice::daemon
