// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Checks a plugin file before it is mapped, so that none of its code, including static constructors, runs if it is
// rejected. Stateless; any thread. Each error names the file, the check, the finding and the remedy.
#pragma once

#include <filesystem>

#include "core/plugin/lookup.hpp"
#include "lib/status.hpp"

namespace sluice::plugin {

struct FileRules {
  Folders folders;               // a plugin must lie in one of these, after symbolic links are followed
  bool relax_ownership = false;  // for developers: accept any owner, and write permission of the group
};

// Checks location and permissions: an absolute path to a regular file in a plugin folder. File and folder must belong
// to root (or the user of this process), and only the owner may write. Parent folders are not checked, because a build
// below a sticky folder must work. Returns the path with symbolic links followed.
lib::Result<std::filesystem::path> check_location(const std::filesystem::path& file, const FileRules& rules);

// Checks the content: an ELF shared object for this machine with the section "sluice_abi", whose descriptor this daemon
// accepts (descriptor.hpp). If `file` is a copy, errors name the original, `copy_of`.
lib::Status check_content(const std::filesystem::path& file, const std::filesystem::path& copy_of = {});

}  // namespace sluice::plugin
