// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Converts a draft to settings. Checks every value and their combinations, and collects all errors with their places.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
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

// The result of validating the options of a backend by the declarations of its plugin.
struct CheckedOptions {
  std::vector<std::pair<std::string, std::string>> problems;  // key and error
  std::map<std::string, std::string> restart_options;         // see Settings
};

struct HostEnvironment {
  std::vector<std::string> installed_backends;  // ids, sorted
  std::string host_name;                        // of the machine
  // Called only in auto mode: probes the installed backends; may take seconds.
  std::function<lib::Result<BackendChoice>(const PluginSettings&)> choose_backend{};
  // The result is empty if the plugin declares no options, or cannot be loaded.
  std::function<CheckedOptions(const PluginSettings&, const std::string& backend, const OptionTexts& given)>
      check_options{};
};

// The result is valid only if `problems` has no errors afterwards.
Settings validate(const Draft& draft, const HostEnvironment& environment, Problems& problems);

}  // namespace sluice::config
