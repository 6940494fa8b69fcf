// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Mode "auto": the first backend in the order of preference that works on this node.
#pragma once

#include "core/config/validate.hpp"

namespace sluice::lifecycle {

// Probes the preferred modes (config/mode_table.hpp) if installed; the reason names the probe results. Blocks
// until the probes return; changes nothing on the node.
lib::Result<config::BackendChoice> choose_backend(const config::PluginSettings& plugins);

}  // namespace sluice::lifecycle
