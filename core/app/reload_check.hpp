// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What SIGHUP leads to: the configuration is read and checked as a start would do it, and the log says
// whether a restart would change anything, or fail. Nothing takes effect.
#pragma once

#include <functional>

#include "core/app/config/problems.hpp"
#include "core/app/config/settings.hpp"

namespace sluice::app {

// Flags and file, read again; what is wrong goes to the problems.
using ReadSettings = std::function<Settings(Problems&)>;

enum class ReloadVerdict { unchanged, needs_restart, unusable };

// [main thread] Logs what it finds.
ReloadVerdict check_reload(const Settings& running, const ReadSettings& read);

}  // namespace sluice::app
