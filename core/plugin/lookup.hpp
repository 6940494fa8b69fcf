// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Finds plugin files: the file of an id is "<folder>/<id>.so". file_checks.hpp checks what is found.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lib/status.hpp"

namespace sluice::plugin {

using Folders = std::vector<std::filesystem::path>;

// The first folder that has the file wins. The error lists the available ids.
lib::Result<std::filesystem::path> find_plugin(const Folders& folders, std::string_view id);

// The ids of all plugin files in `folders`, sorted, without duplicates.
std::vector<std::string> available_plugins(const Folders& folders);

// `installed`, preceded by the plugins of the build tree if `executable` is in one: <build>/core/sluiced or
// <build>/core/.libs/sluiced, with <build>/config.status. libtool puts a module into the .libs folder next to its .la.
Folders default_folders(const std::filesystem::path& installed, const std::filesystem::path& executable);

// The executable file of this process; empty if /proc is not available.
std::filesystem::path running_executable();

}  // namespace sluice::plugin
