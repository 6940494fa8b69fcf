// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reads settings from the command line and its configuration file, at startup and at each reload. A reload keeps the
// values that startup detected. Independent of the daemon; all access to the machine is passed in.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/config/draft.hpp"
#include "core/config/problems.hpp"
#include "core/config/settings.hpp"
#include "core/config/validate.hpp"
#include "lib/status.hpp"

namespace sluice::reload {

struct ReaderEnvironment {
  config::Defaults defaults;
  std::string host_name;  // of startup; a new host name takes effect at the next start
  std::function<std::vector<std::string>(const config::PluginSettings&)> installed_backends;
  std::function<std::string(const std::string& recording)> recorded_node;  // empty: unknown
  // For auto mode; may take seconds.
  std::function<lib::Result<config::BackendChoice>(const config::PluginSettings&)> choose_backend;
  // `running`: see lifecycle::OptionCheck.
  std::function<config::CheckedOptions(const config::PluginSettings&, const std::string& backend,
                                       const config::OptionTexts& given, bool running)>
      check_options{};
};

// `running`: null at startup. A backend that auto mode chose from the same plugins is kept.
config::Settings validated(const config::Draft& draft, const ReaderEnvironment& environment,
                           const config::Settings* running, config::Problems& problems);

// For a reload; the result is valid only if `problems` has no errors afterwards. Reads files and has no other effect.
config::Settings read_settings(const std::vector<std::string>& arguments, const ReaderEnvironment& environment,
                               const config::Settings& running, config::Problems& problems);

}  // namespace sluice::reload
