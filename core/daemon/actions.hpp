// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Implements --check.
#pragma once

#include <string>
#include <vector>

#include "core/config/problems.hpp"
#include "core/config/settings.hpp"

namespace sluice::daemon {

// Checks what the settings refer to: the plugin loads, the kubeconfig is usable, the
// manifests decode. Adds every error to `problems`.
void check_references(const config::Settings& settings, config::Problems& problems);

}  // namespace sluice::daemon
