// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The shared object itself: it comes, makes a backend, and leaves nothing mapped.
#include <cppunit/extensions/HelperMacros.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "sluice/sdk/sdk.hpp"
#include "test/unit/skip.hpp"
#include "test/unit/userspace/backend_bench.hpp"

namespace sluice::userspace {
namespace {

// What is built with a sanitizer is linked so that it is never unmapped: reports name its functions then.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kStaysMapped = true;
#elif defined(__has_feature)
constexpr bool kStaysMapped = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kStaysMapped = false;
#endif

class PluginTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PluginTest);
  CPPUNIT_TEST(it_is_unmapped_once_its_backends_are_released);
  CPPUNIT_TEST(an_unknown_option_is_refused_by_name);
  CPPUNIT_TEST_SUITE_END();

  test::RelayHost host_;

  static std::string file() {
    const char* const tree = std::getenv("SLUICE_BUILDDIR");
    const std::string path = std::string(tree == nullptr ? "." : tree) + "/plugins/userspace/.libs/userspace.so";
    if (access(path.c_str(), R_OK) == 0) return path;
    test::skip("there is no " + path + "; build it first");
    return {};
  }
  static bool is_mapped(const std::string& file) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.ends_with(file.substr(file.rfind("/plugins/")))) return true;
    }
    return false;
  }
  abi::Code create(const void* library, abi::Family family, const std::vector<abi::Option>& options,
                   abi::Backend*& made, abi::Error& error) {
    const auto* entry = static_cast<const abi::PluginEntry*>(dlsym(const_cast<void*>(library), "sluice_plugin_entry"));
    CPPUNIT_ASSERT(entry != nullptr);
    CPPUNIT_ASSERT_EQUAL(std::string("userspace"), std::string(entry->id));
    abi::CreateArgs args{};
    args.struct_size = sizeof(args);
    args.family = family;
    args.host = &host_;
    args.options = sdk::array(options.data(), options.size());
    return entry->create(&args, &made, &error);
  }

  void it_is_unmapped_once_its_backends_are_released() {
    const std::string path = file();
    if (path.empty()) return;
    for (int round = 0; round < 2; ++round) {
      void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      CPPUNIT_ASSERT_MESSAGE(library == nullptr ? dlerror() : "", library != nullptr);
      for (const abi::Family family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
        abi::Backend* backend = nullptr;
        abi::Error error = sdk::empty_error();
        const std::vector<abi::Option> options{{sdk::view("threads"), sdk::view("2")}};
        CPPUNIT_ASSERT(create(library, family, options, backend, error) == abi::Code::kOk);
        backend->release();
      }
      CPPUNIT_ASSERT(is_mapped(path));
      CPPUNIT_ASSERT_EQUAL(0, dlclose(library));
      if (!kStaysMapped) CPPUNIT_ASSERT(!is_mapped(path));
    }
  }

  void an_unknown_option_is_refused_by_name() {
    const std::string path = file();
    if (path.empty()) return;
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    CPPUNIT_ASSERT(library != nullptr);
    abi::Backend* backend = nullptr;
    abi::Error error = sdk::empty_error();
    const std::vector<abi::Option> options{{sdk::view("tcpIdleTimeuot"), sdk::view("1s")}};
    CPPUNIT_ASSERT(create(library, abi::Family::kIpv4, options, backend, error) == abi::Code::kInvalid);
    CPPUNIT_ASSERT(backend == nullptr);
    CPPUNIT_ASSERT_EQUAL(std::string("tcpIdleTimeuot"), std::string(error.object));
    CPPUNIT_ASSERT_EQUAL(0, dlclose(library));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(PluginTest);

}  // namespace
}  // namespace sluice::userspace
