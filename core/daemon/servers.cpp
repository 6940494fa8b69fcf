// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/servers.hpp"

#include "core/daemon/build_info.hpp"
#include "core/logging/logging.hpp"
#include "core/observe/control/reload_command.hpp"
#include "core/observe/metrics/process_statistics.hpp"
#include "core/observe/services/command.hpp"
#include "core/observe/services/inspect_command.hpp"

namespace sluice::daemon {
namespace {

observe::ProcessInfo process_info() {
  const observe::BuildInfo build = observe::build_info();
  return {kVersion, build.kubernetes_major + "." + build.kubernetes_minor, observe::process_start()};
}

}  // namespace

Servers::Servers(const std::string& control_socket, const config::SettingsCell& settings, Reports& reports,
                 Delivery& delivery, const lifecycle::Backends& backends, const lib::Clock& clock)
    : reports_(reports),
      state_(settings, reports, delivery, backends, clock),
      control_(control_socket),
      http_(settings, *this, process_info()) {
  // Before the servers, which may start before the backend has started.
  reports_.metrics().set_scrape_source([this] { return state_.scrape_data(); });
  control_.on_slow("services", observe::ServicesCommand([this] { return state_.service_views(); }));
  control_.on_slow("inspect", observe::InspectCommand([this] { return state_.service_views(); }));
}

void Servers::add_reloads(reload::Reloader& reloader) {
  control_.on("status", [this, &reloader](const nlohmann::json&) { return state_.status(reloader.status()); });
  control_.on_slow("reload", observe::reload_command(reloader));
}

void Servers::set_verbosity(int verbosity) { logging::set_verbosity(verbosity); }

lib::Status Servers::start() {
  if (started_) return *started_;
  started_ = control_.start();
  if (started_->ok()) started_ = http_.start();
  return *started_;
}

void Servers::stop() {
  control_.stop();
  http_.stop();
}

}  // namespace sluice::daemon
