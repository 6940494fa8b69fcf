// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/choose_backend.hpp"

#include <filesystem>
#include <string>

#include "core/config/mode_table.hpp"
#include "core/lifecycle/load_backend.hpp"
#include "core/node/family_support.hpp"
#include "core/plugin/backend_handle.hpp"
#include "lib/clock.hpp"

namespace sluice::lifecycle {
namespace {

// One working family is enough, as at a start.
lib::Status try_backend(const config::PluginSettings& plugins, const std::string& id) {
  const auto loaded = load_backend(plugins, id);
  if (!loaded) return loaded.status();
  const lib::SteadyClock clock;
  lib::Status last{lib::StatusCode::unsupported, "backend " + id + " supports no IP family"};
  for (const lib::Family family : lib::kFamilies) {
    if (!(*loaded)->supports(family)) continue;
    if (family == lib::Family::ipv6 && !node::check_ipv6().ok()) continue;
    plugin::BackendSettings settings;
    settings.family = family;
    auto backend = plugin::BackendHandle::create(*loaded, settings, nullptr, nullptr, clock);
    if (!backend) {
      last = backend.status();
      continue;
    }
    const plugin::Outcome outcome = (*backend)->probe();
    if (outcome.ok()) return {};
    last = outcome.status((*backend)->name(), "probe");
  }
  return last;
}

}  // namespace

lib::Result<config::BackendChoice> choose_backend(const config::PluginSettings& plugins) {
  std::string against;
  for (const std::string& id : config::preferred_modes()) {
    const lib::Status status = try_backend(plugins, id);
    if (status.ok()) {
      return config::BackendChoice{id, "mode auto: " + against + id + " works on this node"};
    }
    against += status.message() + "; ";
  }
  return lib::Status(lib::StatusCode::unsupported,
                     "no backend works on this node: " + against.substr(0, against.size() - 2) +
                         "; install a backend that works, or set mode to one");
}

}  // namespace sluice::lifecycle
