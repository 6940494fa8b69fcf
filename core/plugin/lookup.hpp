// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Where plugins are and which file belongs to an id: "<folder>/<id>.so".
// Finding is not trusting: see file_checks.hpp.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.hpp"

namespace sluice::plugin {

using Folders = std::vector<std::filesystem::path>;

// The first folder that has the file wins. The failure lists the ids there are.
base::Result<std::filesystem::path> find_plugin(const Folders& folders, std::string_view id);

// Ids of all plugin files in `folders`, sorted, each once.
std::vector<std::string> available_plugins(const Folders& folders);

// `installed`, and before it the plugins of the build tree when `executable` is the
// daemon of one: <build>/core/sluiced or <build>/core/.libs/sluiced beside
// <build>/config.status. libtool keeps a module in the .libs folder beside its .la.
Folders default_folders(const std::filesystem::path& installed, const std::filesystem::path& executable);

// The file this process runs, or an empty path when /proc does not say.
std::filesystem::path running_executable();

}  // namespace sluice::plugin
