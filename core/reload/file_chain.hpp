// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// By which names of which folders a path leads to its file. One of these names given to something else, and the path
// leads elsewhere: that is what there is to watch.
#pragma once

#include <map>
#include <set>
#include <string>

namespace sluice::reload {

struct FileChain {
  // Folders that exist, by a path without links, and the names looked up in each. Where a folder is missing, its name
  // in the folder above is the last.
  std::map<std::string, std::set<std::string>> folders;
  // What the path leads to, without links; empty where that does not exist.
  std::string file;

  bool operator==(const FileChain&) const = default;
};

// Of a path that is relative, the current folder is the beginning. A ring of links leads nowhere.
FileChain follow_path(const std::string& path);

}  // namespace sluice::reload
