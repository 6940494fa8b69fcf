// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// From a draft to settings: every value checked, and each against the others. All
// errors are collected, with the place of the setting that is wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/status.hpp"
#include "core/config/draft.hpp"
#include "core/config/problems.hpp"
#include "core/config/settings.hpp"

namespace sluice::config {

struct BackendChoice {
  std::string id;
  std::string reason;
};

struct Surroundings {
  std::vector<std::string> installed_backends;  // ids, sorted
  std::string host_name;                        // what the machine calls itself
  // For "auto": tries what is installed. Asked only then; may take seconds.
  std::function<base::Result<BackendChoice>(const PluginSettings&)> choose_backend{};
};

// Usable only when `problems` has no errors afterwards.
Settings validate(const Draft& draft, const Surroundings& surroundings, Problems& problems);

}  // namespace sluice::config
