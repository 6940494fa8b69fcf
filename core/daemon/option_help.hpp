// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The part of --help about the options of the installed backends.
#pragma once

#include <string>

#include "core/config/settings.hpp"

namespace sluice::daemon {

// Maps each plugin in turn. A plugin that cannot be loaded is named in one line.
std::string option_help(const config::PluginSettings& plugins);

}  // namespace sluice::daemon
