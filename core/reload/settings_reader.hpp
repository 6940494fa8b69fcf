// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// From the command line and the file it names to settings: at a start, and again at each reload, when what a start has
// found out for itself stays. Needs no daemon; what it asks of the machine is given to it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/status.hpp"
#include "core/config/draft.hpp"
#include "core/config/problems.hpp"
#include "core/config/settings.hpp"
#include "core/config/validate.hpp"

namespace sluice::reload {

struct ReaderSurroundings {
  config::Defaults defaults;
  std::string host_name;  // what the machine called itself at the start: a new name is one for the next start
  std::function<std::vector<std::string>(const config::PluginSettings&)> installed_backends;
  std::function<std::string(const std::string& recording)> recorded_node;  // empty: not known
  // Mode auto; may take seconds.
  std::function<base::Result<config::BackendChoice>(const config::PluginSettings&)> choose_backend;
};

// `in_force`: null at a start. Where that was chosen by mode auto from the same plugins, the choice stays.
config::Settings validated(const config::Draft& draft, const ReaderSurroundings& surroundings,
                           const config::Settings* in_force, config::Problems& problems);

// Everything anew, for a reload; usable when `problems` has no errors afterwards. Files are read while it runs, nothing
// else is touched.
config::Settings read_settings(const std::vector<std::string>& arguments, const ReaderSurroundings& surroundings,
                               const config::Settings& in_force, config::Problems& problems);

}  // namespace sluice::reload
