// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Actions that end: --check.
#pragma once

#include <string>
#include <vector>

#include "core/app/config/problems.hpp"
#include "core/app/config/settings.hpp"

namespace sluice::app {

// Beyond the settings themselves: the plugin loads, the kubeconfig is usable, the
// manifests decode. Everything found goes to `problems`.
void check_surroundings(const Settings& settings, Problems& problems);

}  // namespace sluice::app
