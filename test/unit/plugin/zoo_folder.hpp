// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A temporary plugin folder with copies of zoo plugins. They are copies because tests change their location and
// permissions, and because the build tree may have any owner and mode.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/plugin/loader.hpp"

namespace sluice::test {

class ZooFolder {
 public:
  ZooFolder();
  ~ZooFolder();
  ZooFolder(const ZooFolder&) = delete;
  ZooFolder& operator=(const ZooFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // A copy of the zoo plugin `name`, called `as`.so (`name` when empty).
  std::filesystem::path add(const std::string& name, const std::string& as = "") const;
  std::filesystem::path write(const std::string& file_name, const std::string& content) const;
  // Overwrites bytes at `offset`.
  static void patch(const std::filesystem::path& file, std::uint64_t offset, const std::string& bytes);
  // A request for the file of `id` under the strict rules of this folder.
  plugin::LoadRequest request(const std::string& id) const;

 private:
  std::filesystem::path root_;
  std::filesystem::path path_;
};

// The folder of the built zoo: test/plugins/.libs in $SLUICE_BUILDDIR, or in the build tree of this program. Fails the
// test if it does not exist.
std::filesystem::path built_zoo();

// Whether a line of /proc/self/maps names `file`.
bool is_mapped(const std::filesystem::path& file);

// Fails the test when `text` does not contain `part`.
void require_contains(const std::string& text, const std::string& part);

}  // namespace sluice::test
