// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The shared object: it loads, creates backends, and is unmapped.
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "test/unit/common/fake_host.hpp"
#include "test/unit/plugin_library.hpp"

namespace sluice::test {
namespace plugin_test {

class IpvsPluginTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(IpvsPluginTest);
  CPPUNIT_TEST(it_is_unmapped_once_its_backends_are_released);
  CPPUNIT_TEST(declares_its_features);
  CPPUNIT_TEST(an_unknown_option_is_rejected_by_name);
  CPPUNIT_TEST_SUITE_END();

  FakeHost host_;

  void it_is_unmapped_once_its_backends_are_released() {
    const auto path = PluginLibrary::find("ipvs");
    for (int round = 0; path && round < 2; ++round) {
      PluginLibrary library(*path);
      abi::Backend* backends[2] = {};
      for (const abi::Family family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
        abi::Error error = sdk::empty_error();
        const std::vector<abi::Option> options{{sdk::view("ipvs.scheduler"), sdk::view("rr"), {}, 0, 0}};
        abi::Backend*& made = backends[family == abi::Family::kIpv6 ? 1 : 0];
        CPPUNIT_ASSERT_EQUAL_MESSAGE(error.message, std::int32_t{0},
                                     static_cast<std::int32_t>(library.create(host_, family, options, made, error)));
      }
      for (abi::Backend* backend : backends) backend->release();
      library.unload();
    }
  }

  void declares_its_features() {
    const auto path = PluginLibrary::find("ipvs");
    if (!path) return;
    const PluginLibrary library(*path);
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs"), std::string(library.entry().id));
    for (const abi::Feature feature :
         {abi::kFeatureIpv4, abi::kFeatureIpv6, abi::kFeatureDelta, abi::kFeatureAffinity, abi::kFeatureOwnConnections}) {
      CPPUNIT_ASSERT((library.entry().features & feature) != 0);
    }
  }

  void an_unknown_option_is_rejected_by_name() {
    const auto path = PluginLibrary::find("ipvs");
    if (!path) return;
    const PluginLibrary library(*path);
    abi::Backend* backend = nullptr;
    abi::Error error = sdk::empty_error();
    const std::vector<abi::Option> options{{sdk::view("drainTimeuot"), sdk::view("1s"), {}, 0, 0}};
    CPPUNIT_ASSERT(library.create(host_, abi::Family::kIpv4, options, backend, error) == abi::Code::kInvalid);
    CPPUNIT_ASSERT(backend == nullptr);
    CPPUNIT_ASSERT_EQUAL(std::string("drainTimeuot"), std::string(error.object));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsPluginTest);

}  // namespace plugin_test
}  // namespace sluice::test
