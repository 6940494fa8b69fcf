// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/plugin/zoo_folder.hpp"

#include <cppunit/TestAssert.h>
#include <stdlib.h>

#include <fstream>
#include <system_error>

#include "core/plugin/lookup.hpp"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

constexpr fs::perms kFileMode = fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read |
                                fs::perms::others_read;

}  // namespace

ZooFolder::ZooFolder() {
  std::string name = (fs::temp_directory_path() / "sluice-zoo-XXXXXX").string();
  CPPUNIT_ASSERT_MESSAGE("mkdtemp " + name, mkdtemp(name.data()) != nullptr);
  root_ = fs::canonical(name);
  path_ = root_ / "plugins";
  fs::create_directory(path_);
  fs::permissions(path_, fs::perms::owner_all);
}

ZooFolder::~ZooFolder() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

fs::path ZooFolder::add(const std::string& name, const std::string& as) const {
  const fs::path to = path_ / ((as.empty() ? name : as) + ".so");
  fs::remove(to);  // it may be mapped, and overwriting it would change the running code
  fs::copy_file(built_zoo() / (name + ".so"), to);
  fs::permissions(to, kFileMode);
  return to;
}

fs::path ZooFolder::write(const std::string& file_name, const std::string& content) const {
  const fs::path to = path_ / file_name;
  std::ofstream(to, std::ios::binary) << content;
  fs::permissions(to, kFileMode);
  return to;
}

void ZooFolder::patch(const fs::path& file, std::uint64_t offset, const std::string& bytes) {
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(static_cast<std::streamoff>(offset));
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  CPPUNIT_ASSERT_MESSAGE("patch " + file.string(), out.good());
}

plugin::LoadRequest ZooFolder::request(const std::string& id) const {
  plugin::LoadRequest request;
  request.file = path_ / (id + ".so");
  request.id = id;
  request.rules.folders = {path_};
  return request;
}

fs::path built_zoo() {
  const char* const build = getenv("SLUICE_BUILDDIR");
  for (fs::path at = build != nullptr ? fs::path(build) : plugin::running_executable(); at.has_relative_path();
       at = at.parent_path()) {
    if (fs::is_directory(at / "test/plugins/.libs")) return at / "test/plugins/.libs";
  }
  CPPUNIT_FAIL("the zoo is not built: run make check, or name the build tree in SLUICE_BUILDDIR");
  return {};
}

bool is_mapped(const fs::path& file) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(file.string()) != std::string::npos) return true;
  }
  return false;
}

void require_contains(const std::string& text, const std::string& part) {
  CPPUNIT_ASSERT_MESSAGE("'" + part + "' is not in: " + text, text.find(part) != std::string::npos);
}

}  // namespace sluice::test
