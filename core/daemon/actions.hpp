// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Implements --check and --write-config-to. Returns exit statuses. Prints, because logging is not set up for it.
#pragma once

#include <string>

#include "core/config/draft.hpp"
#include "core/config/problems.hpp"
#include "core/config/settings.hpp"

namespace sluice::daemon {

// Prints errors and warnings.
int print(const config::Problems& problems);
// Checks the settings and what they refer to: the plugin loads, the kubeconfig is usable, the manifests decode. Adds
// every error to `problems`, and prints them with the result.
int check(const config::Settings& settings, config::Problems& problems);
// Writes the effective configuration to `path`.
int write_configuration(const std::string& path, const config::Draft& draft, const config::Settings& settings,
                        config::Problems& problems);

}  // namespace sluice::daemon
