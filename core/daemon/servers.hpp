// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The control socket, and the HTTP servers for health and metrics. They answer with the state of the other parts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/settings_cell.hpp"
#include "core/daemon/delivery.hpp"
#include "core/daemon/reports.hpp"
#include "core/daemon/state_reader.hpp"
#include "core/lifecycle/backends.hpp"
#include "core/observe/control/control_server.hpp"
#include "core/observe/pages/http_pages.hpp"
#include "core/reload/reloader.hpp"
#include "lib/clock.hpp"

namespace sluice::daemon {

class Servers final : private observe::PageSources {
 public:
  // `control_socket` is a path. All must outlive it.
  Servers(const std::string& control_socket, const config::SettingsCell& settings, Reports& reports, Delivery& delivery,
          const lifecycle::Backends& backends, const lib::Clock& clock);

  // Before start(): answers status and reload requests. The reloader must outlive the servers' threads.
  void add_reloads(reload::Reloader& reloader);

  // Later calls return the first result.
  lib::Status start();
  void stop();

  observe::HttpPages& http() { return http_; }
  StateReader& state() { return state_; }

 private:
  // observe::PageSources
  std::vector<observe::FamilyHealth> families() override { return state_.family_health(); }
  std::string metrics_text() override { return reports_.metrics().text(); }
  void answered_healthz(int code) override { reports_.metrics().answered_healthz(code); }
  void answered_livez(int code) override { reports_.metrics().answered_livez(code); }
  void set_verbosity(int verbosity) override;
  void bind_failed_hard(const std::string& reason, const std::string& sentence) override {
    reports_.bind_failed(reason, sentence);
  }

  Reports& reports_;
  StateReader state_;
  observe::ControlServer control_;
  observe::HttpPages http_;
  std::optional<lib::Status> started_;
};

}  // namespace sluice::daemon
