// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The shared object: it loads, creates a backend, and is unmapped completely.
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "test/unit/plugin_library.hpp"
#include "test/unit/userspace/backend_rig.hpp"

namespace sluice::userspace {
namespace plugin_test {

class PluginTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PluginTest);
  CPPUNIT_TEST(the_plugin_is_unmapped_after_its_backends_are_released);
  CPPUNIT_TEST(an_unknown_option_is_rejected_with_its_name);
  CPPUNIT_TEST_SUITE_END();

  test::RelayHost host_;

  void the_plugin_is_unmapped_after_its_backends_are_released() {
    const auto path = test::PluginLibrary::find("userspace");
    for (int round = 0; path && round < 2; ++round) {
      test::PluginLibrary library(*path);
      CPPUNIT_ASSERT_EQUAL(std::string("userspace"), std::string(library.entry().id));
      for (const abi::Family family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
        abi::Backend* backend = nullptr;
        abi::Error error = sdk::empty_error();
        const std::vector<abi::Option> options{{sdk::view("threads"), sdk::view("2"), {}, 0, 0}};
        CPPUNIT_ASSERT(library.create(host_, family, options, backend, error) == abi::Code::kOk);
        backend->release();
      }
      library.unload();
    }
  }

  void an_unknown_option_is_rejected_with_its_name() {
    const auto path = test::PluginLibrary::find("userspace");
    if (!path) return;
    const test::PluginLibrary library(*path);
    abi::Backend* backend = nullptr;
    abi::Error error = sdk::empty_error();
    const std::vector<abi::Option> options{{sdk::view("tcpIdleTimeuot"), sdk::view("1s"), {}, 0, 0}};
    CPPUNIT_ASSERT(library.create(host_, abi::Family::kIpv4, options, backend, error) == abi::Code::kInvalid);
    CPPUNIT_ASSERT(backend == nullptr);
    CPPUNIT_ASSERT_EQUAL(std::string("tcpIdleTimeuot"), std::string(error.object));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(PluginTest);

}  // namespace plugin_test
}  // namespace sluice::userspace
