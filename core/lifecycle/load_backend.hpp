// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Finds, checks and loads the plugin of a backend id, with the configured folders.
#pragma once

#include <memory>
#include <string>

#include "core/config/settings.hpp"
#include "core/plugin/loader.hpp"
#include "lib/status.hpp"

namespace sluice::lifecycle {

// `copy`: see LoadRequest.
lib::Result<std::shared_ptr<const plugin::Plugin>> load_backend(const config::PluginSettings& settings,
                                                                const std::string& id, bool copy = false);

}  // namespace sluice::lifecycle
