// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/lookup.hpp"

#include <algorithm>
#include <system_error>

#include "lib/text.hpp"

namespace sluice::plugin {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".so";

// An id becomes a file name, so it must not contain path components.
bool is_file_name(std::string_view id) {
  return !id.empty() && id.front() != '.' && id.find('/') == std::string_view::npos &&
         id.find('\0') == std::string_view::npos;
}

// The sub-folders of `folder`, sorted, so that the search order is deterministic.
std::vector<fs::path> subfolders(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored)) found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<std::string> available_plugins(const Folders& folders) {
  std::vector<std::string> ids;
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      const std::string id = at->path().stem().string();
      if (at->path().extension() == kSuffix && is_file_name(id)) ids.push_back(id);
    }
  }
  lib::sort_unique(ids);
  return ids;
}

lib::Result<fs::path> find_plugin(const Folders& folders, std::string_view id) {
  if (!is_file_name(id)) {
    return lib::invalid("backend id '" + std::string(id) + "' is not a plain name; use one such as \"iptables\"");
  }
  std::vector<std::string> searched;
  for (const fs::path& folder : folders) {
    const fs::path file = folder / (std::string(id) + std::string(kSuffix));
    std::error_code error;
    if (fs::exists(fs::symlink_status(file, error))) return file;
    searched.push_back(folder.string());
  }
  const std::vector<std::string> ids = available_plugins(folders);
  return lib::not_found("backend '" + std::string(id) + "' is not installed in " + lib::joined(searched) +
                        "; available: " + (ids.empty() ? "none" : lib::joined(ids)));
}

Folders default_folders(const fs::path& installed, const fs::path& executable) {
  Folders folders;
  fs::path folder = executable.parent_path();
  if (folder.filename() == ".libs") folder = folder.parent_path();
  const fs::path build = folder.parent_path();
  std::error_code error;
  if (folder.filename() == "core" && fs::exists(build / "config.status", error)) {
    for (const fs::path& plugin : subfolders(build / "plugins")) {
      if (fs::is_directory(plugin / ".libs", error)) folders.push_back(plugin / ".libs");
    }
  }
  folders.push_back(installed);
  return folders;
}

fs::path running_executable() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

}  // namespace sluice::plugin
