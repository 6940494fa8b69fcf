// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/load_backend.hpp"

#include "core/plugin/lookup.hpp"

namespace sluice::lifecycle {

lib::Result<std::shared_ptr<const plugin::Plugin>> load_backend(const config::PluginSettings& settings,
                                                                const std::string& id, bool copy) {
  const plugin::Folders folders(settings.folders.begin(), settings.folders.end());
  const auto file = plugin::find_plugin(folders, id);
  if (!file) return file.status();
  return plugin::load_plugin({*file, id, {folders, settings.relax_ownership}, copy});
}

}  // namespace sluice::lifecycle
