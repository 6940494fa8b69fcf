// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/backends.hpp"

#include <chrono>
#include <utility>

#include "core/lifecycle/run_records.hpp"

namespace sluice::lifecycle {
namespace {

constexpr std::chrono::seconds kClaimsTimeout{15};

}  // namespace

Backends::Backends(const Dependencies& dependencies)
    : state_dir_(dependencies.state_dir),
      start_trace_(dependencies.start_trace),
      descriptors_(dependencies.descriptors),
      active_({dependencies.metrics, dependencies.start_trace, dependencies.events, dependencies.service_health, dependencies.clock,
               dependencies.node_name, state_dir_.path()}),
      runs_(state_dir_, {dependencies.store, active_, dependencies.clock, &dependencies.metrics.plugin_sink(),
                         &dependencies.descriptors}),
      retiring_(state_dir_, active_, dependencies.clock),
      leftover_(state_dir_, runs_, active_, retiring_, dependencies.descriptors),
      swaps_(state_dir_, runs_, active_, retiring_, leftover_, dependencies.clock) {}

Backends::~Backends() { stop(); }

lib::Result<std::shared_ptr<const plugin::Plugin>> Backends::load(const config::Settings& settings) const {
  return runs_.load(settings.plugins, settings.backend);
}

lib::Result<std::array<lib::Status, 2>> Backends::start(const config::Settings& settings,
                                                        std::shared_ptr<const plugin::Plugin> plugin) {
  auto started = runs_.start(settings, std::move(plugin));
  if (!started) return started.status();
  active_.make_active(std::move(started->run));
  return std::move(started->families);
}

lib::Status Backends::subscribe(const config::Settings& settings, const std::vector<lib::Family>& families) {
  const auto run = active_run();
  active_.open(families);
  const auto claims = run->claims(kClaimsTimeout);
  if (!claims) return claims.status();
  record_run(state_dir_, *run, *claims, ownership::ClaimState::serving);
  retiring_.start(*claims);
  leftover_.start(settings, families);
  start_trace_.backend_ready(families);
  run->subscribe();
  active_.warn_deprecated(run->plugin().id());
  return {};
}

void Backends::set_intervals(const config::Settings& settings) { active_run()->set_intervals(loop_options(settings)); }

// In reverse order of the members.
void Backends::stop() {
  swaps_.cancel();
  leftover_.stop();
  retiring_.stop();
  active_.stop();
}

}  // namespace sluice::lifecycle
