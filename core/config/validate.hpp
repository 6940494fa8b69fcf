// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Converts a draft to settings. Checks every value and their combinations, and collects all errors with their places.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/config/draft.hpp"
#include "core/config/problems.hpp"
#include "core/config/settings.hpp"
#include "lib/status.hpp"

namespace sluice::config {

struct BackendChoice {
  std::string id;
  std::string reason;
};

struct HostEnvironment {
  std::vector<std::string> installed_backends;  // ids, sorted
  std::string host_name;                        // of the machine
  // Called only in auto mode: probes the installed backends; may take seconds.
  std::function<lib::Result<BackendChoice>(const PluginSettings&)> choose_backend{};
};

// The result is valid only if `problems` has no errors afterwards.
Settings validate(const Draft& draft, const HostEnvironment& environment, Problems& problems);

}  // namespace sluice::config
