// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reloads of the configuration: which parts take part, what requests a reload, and which files are watched.
#pragma once

#include <memory>
#include <string>

#include "core/base/notify.hpp"
#include "core/config/settings_cell.hpp"
#include "core/daemon/delivery.hpp"
#include "core/daemon/reports.hpp"
#include "core/lifecycle/backend_part.hpp"
#include "core/lifecycle/backends.hpp"
#include "core/logging/logging_part.hpp"
#include "core/reload/file_watch.hpp"
#include "core/reload/reloader.hpp"
#include "lib/clock.hpp"

namespace sluice::daemon {

class Reloads {
 public:
  // All must outlive it. `kernel` and `addresses` are parts of a reload.
  struct Dependencies {
    config::SettingsCell& settings;
    const base::Notifier& notifier;
    Reports& reports;
    reload::ReloadPart& kernel;
    reload::ReloadPart& addresses;
    Delivery& delivery;
    lifecycle::Backends& backends;
    const lib::Clock& clock;
  };

  Reloads(const Dependencies& dependencies, reload::ReadSettings read_again);

  // Watches the configuration file.
  lib::Status start_file_watch();
  void start();
  // Also stops the file watch and a swap in progress; waits for a running reload.
  void stop();

  reload::Reloader& reloader() { return reloader_; }
  // See BackendPart.
  std::shared_ptr<const config::Settings> swap_settings() const { return backend_part_.swap_settings(); }

 private:
  reload::ReloadHooks hooks();
  void watch_files();

  config::SettingsCell& settings_;
  const base::Notifier& notifier_;
  Reports& reports_;
  Delivery& delivery_;
  lifecycle::Backends& backends_;
  logging::LoggingPart logging_part_;
  lifecycle::BackendPart backend_part_;
  reload::Reloader reloader_;
  reload::FileWatch file_watch_;
};

}  // namespace sluice::daemon
