// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/reload/file_chain.hpp"

#include <deque>
#include <filesystem>
#include <system_error>

namespace sluice::reload {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // the limit of the kernel

void put_in_front(std::deque<std::string>& names, const fs::path& path) {
  std::deque<std::string> more;
  for (const auto& name : path.relative_path()) more.push_back(name.string());
  names.insert(names.begin(), more.begin(), more.end());
}

}  // namespace

FileChain follow_path(const std::string& path) {
  FileChain out;
  std::error_code error;
  std::deque<std::string> names;
  put_in_front(names, fs::absolute(path, error));
  if (error) return out;
  fs::path at = "/";
  int links = 0;
  while (!names.empty()) {
    const std::string name = names.front();
    names.pop_front();
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at = at.parent_path();
      continue;
    }
    out.folders[at.string()].insert(name);
    const fs::path next = at / name;
    const auto kind = fs::symlink_status(next, error).type();
    if (kind == fs::file_type::symlink) {
      const fs::path target = fs::read_symlink(next, error);
      if (error || ++links > kMostLinks) return out;
      if (target.is_absolute()) at = "/";
      put_in_front(names, target);
      continue;
    }
    if (kind == fs::file_type::not_found || kind == fs::file_type::none) return out;
    if (!names.empty() && kind != fs::file_type::directory) return out;
    at = next;
  }
  out.file = at.string();
  return out;
}

}  // namespace sluice::reload
