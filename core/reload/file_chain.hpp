// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The folders and names through which a path resolves to its file. If one of these names changes its target, the path
// may lead to another file, so all of them must be watched.
#pragma once

#include <map>
#include <set>
#include <string>

namespace sluice::reload {

struct FileChain {
  // Existing folders, by a path without links, and the names that are resolved in each. If a folder is missing, the
  // chain ends with its name in the parent folder.
  std::map<std::string, std::set<std::string>> folders;
  // The resolved path without links; empty if the file does not exist.
  std::string file;

  bool operator==(const FileChain&) const = default;
};

// A relative path starts in the current folder. A loop of links resolves to no file.
FileChain follow_path(const std::string& path);

}  // namespace sluice::reload
