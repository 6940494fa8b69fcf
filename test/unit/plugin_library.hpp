// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The shared object of a backend of this project: loads it, and checks that unloading leaves nothing mapped.
#pragma once

#include <cppunit/TestAssert.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "sluice/sdk/sdk.hpp"
#include "test/unit/repetitions.hpp"
#include "test/unit/skip.hpp"

namespace sluice::test {

// With a sanitizer, plugins are linked so that they are never unmapped, because reports name their functions later.
inline constexpr bool kStaysMapped = kSanitized;

class PluginLibrary {
 public:
  // Empty if it has not been built; the test is then skipped.
  static std::optional<std::string> find(const std::string& id) {
    const char* const tree = std::getenv("SLUICE_BUILDDIR");
    const std::string path = std::string(tree == nullptr ? "." : tree) + "/plugins/" + id + "/.libs/" + id + ".so";
    if (access(path.c_str(), R_OK) == 0) return path;
    skip("there is no " + path + "; build it first");
    return std::nullopt;
  }

  explicit PluginLibrary(const std::string& path) : path_(path), library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    CPPUNIT_ASSERT_MESSAGE(library_ == nullptr ? dlerror() : "", library_ != nullptr);
  }
  ~PluginLibrary() {
    if (library_ != nullptr) dlclose(library_);
  }
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  const abi::PluginEntry& entry() const {
    const auto* found = static_cast<const abi::PluginEntry*>(dlsym(library_, "sluice_plugin_entry"));
    CPPUNIT_ASSERT(found != nullptr);
    return *found;
  }
  abi::Code create(abi::Host& host, abi::Family family, const std::vector<abi::Option>& options, abi::Backend*& made,
                   abi::Error& error) const {
    abi::CreateArgs args{};
    args.struct_size = sizeof(args);
    args.family = family;
    args.host = &host;
    args.options = sdk::array(options.data(), options.size());
    return entry().create(&args, &made, &error);
  }
  void unload() {
    CPPUNIT_ASSERT(is_mapped());
    CPPUNIT_ASSERT_EQUAL(0, dlclose(library_));
    library_ = nullptr;
    if (!kStaysMapped) CPPUNIT_ASSERT_MESSAGE(path_ + " stays mapped", !is_mapped());
  }

 private:
  bool is_mapped() const {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.ends_with(path_.substr(path_.rfind("/plugins/")))) return true;
    }
    return false;
  }

  std::string path_;
  void* library_;
};

}  // namespace sluice::test
