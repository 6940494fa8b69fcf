// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Actions that end: --check.
#pragma once

#include <string>
#include <vector>

#include "core/config/problems.hpp"
#include "core/config/settings.hpp"

namespace sluice::daemon {

// Beyond the settings themselves: the plugin loads, the kubeconfig is usable, the
// manifests decode. Everything found goes to `problems`.
void check_surroundings(const config::Settings& settings, config::Problems& problems);

}  // namespace sluice::daemon
