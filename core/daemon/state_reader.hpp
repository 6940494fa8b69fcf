// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reads the state of store, source and backends, in the form that health, metrics, control socket and service manager
// need. Any thread; only supervised() waits, for the store.
#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/config/settings_cell.hpp"
#include "core/daemon/delivery.hpp"
#include "core/daemon/reports.hpp"
#include "core/daemon/supervision.hpp"
#include "core/lifecycle/backends.hpp"
#include "core/observe/health/proxy_health.hpp"
#include "core/observe/metrics/scrape_data.hpp"
#include "core/observe/services/command.hpp"
#include "core/reload/reload_result.hpp"
#include "lib/clock.hpp"

namespace sluice::daemon {

class StateReader {
 public:
  // All must outlive it.
  StateReader(const config::SettingsCell& settings, Reports& reports, Delivery& delivery,
              const lifecycle::Backends& backends, const lib::Clock& clock)
      : settings_(settings),
        node_name_(settings_.get()->node_name),
        reports_(reports),
        delivery_(delivery),
        backends_(backends),
        clock_(clock) {}

  // The backend has started, and the source exists. Until then, the state is that of pending backend calls.
  void set_complete() { complete_ = true; }

  std::vector<observe::FamilyHealth> family_health() const;
  // Does not wait for the store or an apply thread.
  observe::ScrapeData scrape_data() const;
  nlohmann::json status(const reload::ReloadStatus& reload) const;
  // [control thread] A view may outlive its backend; its callbacks then do nothing.
  std::vector<observe::ServiceView> service_views() const;
  // REQUIRES: complete.
  Supervised supervised() const;

 private:
  nlohmann::json starting_status() const;

  const config::SettingsCell& settings_;
  const std::string node_name_;  // not changed by a reload
  Reports& reports_;
  Delivery& delivery_;
  const lifecycle::Backends& backends_;
  const lib::Clock& clock_;
  std::atomic<bool> complete_{false};
};

}  // namespace sluice::daemon
