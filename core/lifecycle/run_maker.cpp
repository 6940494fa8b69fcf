// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/run_maker.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/lifecycle/load_backend.hpp"
#include "core/node/family_support.hpp"

namespace sluice::lifecycle {
namespace {

// BEH 4: maximum time between two full syncs.
constexpr std::chrono::hours kFullSyncInterval{1};
// Effectively unlimited: the timeout of the service manager is shorter.
constexpr std::chrono::hours kStartTimeout{24};

}  // namespace

sync::SyncLoop::Options loop_options(const config::Settings& settings) {
  sync::SyncLoop::Options out;
  out.intervals.min = settings.min_sync_period;
  out.intervals.retry = settings.sync_period;
  out.intervals.max = std::max<lib::Clock::Duration>(kFullSyncInterval, settings.sync_period);
  out.verify_every = sync::verify_interval(settings.sync_period);
  return out;
}

lib::Result<std::shared_ptr<const plugin::Plugin>> RunMaker::load(const config::PluginSettings& plugins,
                                                                  const std::string& id) const {
  return load_backend(plugins, id, /*copy=*/true);
}

lib::Result<BackendRun::Settings> RunMaker::run_settings(const config::Settings& configured) {
  const auto folder = state_dir_.backend_folder(configured.backend);
  if (!folder) return folder.status();
  BackendRun::Settings out;
  out.id = ++last_id_;
  const auto options = configured.backend_options();
  for (const lib::Family family : lib::kFamilies) {
    plugin::BackendSettings& backend = out.backend[lib::family_index(family)];
    backend.family = family;
    backend.options = options;
    backend.option_places = configured.option_places;
    backend.state_dir = *folder;
  }
  out.loop = loop_options(configured);
  return out;
}

std::shared_ptr<BackendRun> RunMaker::make(BackendRun::Settings settings) const {
  return std::make_shared<BackendRun>(std::move(settings), environment_);
}

lib::Result<RunMaker::Started> RunMaker::start(const config::Settings& configured,
                                               std::shared_ptr<const plugin::Plugin> plugin) {
  auto of_run = run_settings(configured);
  if (!of_run) return of_run.status();
  BackendRun::Settings& run = *of_run;
  run.plugin = std::move(plugin);

  // Both families in parallel, because probing kernel tools is slow.
  Started out;
  const auto claims = state_dir_.claims();
  for (const lib::Family family : lib::kFamilies) {
    lib::Status& status = out.families[lib::family_index(family)];
    if (family == lib::Family::ipv6) status = node::check_ipv6();
    if (status.ok() && !run.plugin->supports(family)) {
      status = {lib::StatusCode::unsupported,
                "backend " + configured.backend + " does not support " + std::string(lib::family_name(family))};
    }
    if (!status.ok()) continue;
    run.families.push_back(family);
    // Leftover state of another backend serves until the first sync of this backend.
    run.backend[lib::family_index(family)].predecessor_serves = std::any_of(
        claims.begin(), claims.end(),
        [&](const ownership::Claim& claim) { return claim.family == family && claim.backend != configured.backend; });
  }
  out.run = make(std::move(run));
  const auto started = out.run->start(kStartTimeout);
  for (std::size_t i = 0; i < out.families.size(); ++i) {
    if (out.families[i].ok()) out.families[i] = started[i];
  }
  return out;
}

}  // namespace sluice::lifecycle
