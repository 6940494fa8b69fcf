// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The shared object: loading, creating backends, and unloading.
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "test/unit/common/fake_host.hpp"
#include "test/unit/plugin_library.hpp"

namespace sluice::test {
namespace plugin_test {

class NftablesPluginTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesPluginTest);
  CPPUNIT_TEST(it_is_unmapped_once_its_backends_are_released);
  CPPUNIT_TEST(what_it_can_do);
  CPPUNIT_TEST_SUITE_END();

  FakeHost host_;

  void it_is_unmapped_once_its_backends_are_released() {
    const auto path = PluginLibrary::find("nftables");
    for (int round = 0; path && round < 2; ++round) {
      PluginLibrary library(*path);
      abi::Backend* backends[2] = {};
      for (const abi::Family family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
        abi::Error error = sdk::empty_error();
        const std::vector<abi::Option> options{{sdk::view("counters"), sdk::view("true"), {}, 0, 0}};
        abi::Backend*& made = backends[family == abi::Family::kIpv6 ? 1 : 0];
        CPPUNIT_ASSERT_EQUAL_MESSAGE(error.message, std::int32_t{0},
                                     static_cast<std::int32_t>(library.create(host_, family, options, made, error)));
      }
      for (abi::Backend* backend : backends) backend->release();
      library.unload();
    }
  }

  void what_it_can_do() {
    const auto path = PluginLibrary::find("nftables");
    if (!path) return;
    const PluginLibrary library(*path);
    CPPUNIT_ASSERT_EQUAL(std::string("nftables"), std::string(library.entry().id));
    for (const abi::Feature feature :
         {abi::kFeatureIpv4, abi::kFeatureIpv6, abi::kFeatureDelta, abi::kFeatureAffinity, abi::kFeatureServiceCidrs}) {
      CPPUNIT_ASSERT((library.entry().features & feature) != 0);
    }
    CPPUNIT_ASSERT((library.entry().features & abi::kFeatureOwnConnections) == 0);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesPluginTest);

}  // namespace plugin_test
}  // namespace sluice::test
