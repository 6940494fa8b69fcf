// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/actions.hpp"

#include "core/app/source.hpp"
#include "core/app/state_dir.hpp"
#include "core/base/log.hpp"
#include "core/plugin/backend_handle.hpp"
#include "core/plugin/lookup.hpp"

namespace sluice::app {
namespace {

base::Result<std::shared_ptr<const plugin::Plugin>> load(const PluginSettings& settings, const std::string& id) {
  const plugin::Folders folders(settings.folders.begin(), settings.folders.end());
  const auto file = plugin::find_plugin(folders, id);
  if (!file) return file.status();
  return plugin::load_plugin({*file, id, {folders, settings.relax_ownership}, 0});
}

base::Status clean_up_family(const std::shared_ptr<const plugin::Plugin>& loaded, abi::Family family,
                             const std::string& state_dir) {
  const base::SteadyClock clock;
  plugin::BackendSettings settings;
  settings.family = family;
  settings.state_dir = state_dir;
  auto backend = plugin::BackendHandle::create(loaded, settings, {}, nullptr, clock);
  if (!backend) return backend.status();
  const plugin::Outcome outcome = (*backend)->cleanup();
  return outcome.status((*backend)->name(), "cleanup");
}

}  // namespace

void check_surroundings(const Settings& settings, Problems& problems) {
  if (const auto loaded = load(settings.plugins, settings.backend); !loaded) {
    problems.error("backend " + settings.backend, loaded.status().message());
  }
  for (const auto& sentence : check_source(settings)) problems.error("", sentence);
}

bool clean_up(const PluginSettings& plugins, const std::string& state_dir) {
  StateDir state(state_dir);
  if (const auto status = state.open(); !status.ok()) {
    base::log_error("app", status.message());
    return false;
  }
  const plugin::Folders folders(plugins.folders.begin(), plugins.folders.end());
  const auto ids = plugin::available_plugins(folders);
  if (ids.empty()) {
    base::log_error("app", "no backend is installed, so there is nothing that knows what to remove; see --plugin-dir");
    return false;
  }
  bool all = true;
  for (const auto& id : ids) {
    const auto loaded = load(plugins, id);
    if (!loaded) {
      base::log_error("app", loaded.status().message());
      all = false;
      continue;
    }
    const auto folder = state.backend_folder(id);
    if (!folder) {
      base::log_error("app", folder.status().message());
      all = false;
      continue;
    }
    bool clean = true;
    for (const auto family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
      if (!(*loaded)->has(family == abi::Family::kIpv4 ? abi::kFeatureIpv4 : abi::kFeatureIpv6)) continue;
      if (const auto status = clean_up_family(*loaded, family, *folder); !status.ok()) {
        base::log_error("app", status.message());
        clean = all = false;
      }
    }
    if (!clean) continue;
    base::log_info("app", "backend " + id + ": everything it made is removed");
    for (const auto family : base::kFamilies) {
      if (const auto status = state.record_claims(id, family, {}); !status.ok()) {
        base::log_warning("app", status.message());
      }
    }
  }
  return all;
}

}  // namespace sluice::app
