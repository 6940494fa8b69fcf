// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Everything that can be known about a plugin file before it is mapped: none of its
// code, static constructors included, has run when a file is refused here.
// Stateless; any thread. Each refusal is one sentence with file, check, what was
// found and what to do.
#pragma once

#include <filesystem>

#include "core/base/status.hpp"
#include "core/plugin/lookup.hpp"

namespace sluice::plugin {

struct FileRules {
  Folders folders;               // a plugin must lie in one of these, after symbolic links are followed
  bool relax_ownership = false;  // for developers: any owner, group may write
};

// Place and permissions: absolute path, inside a plugin folder, a regular file; the
// file and the folder that holds it belong to root (or to the user this process runs
// as) and only the owner may write. Folders further up are not looked at: a build
// under a sticky folder must work. Returns the path with symbolic links followed.
base::Result<std::filesystem::path> check_location(const std::filesystem::path& file, const FileRules& rules);

// Content: an ELF shared object for this machine with the section "sluice_abi", whose descriptor is for this daemon
// (descriptor.hpp). Where `file` is the copy of another, refusals name that one.
base::Status check_content(const std::filesystem::path& file, const std::filesystem::path& copy_of = {});

}  // namespace sluice::plugin
