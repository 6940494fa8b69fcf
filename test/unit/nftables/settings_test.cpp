// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend's own settings: values, refusals, documentation.
#include "plugins/nftables/settings.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

#include "plugins/nftables/option_table.hpp"
#include "test/unit/common/backend_settings.hpp"

namespace sluice::nftables {
namespace settings_test {

using test::AsOptions;
using test::Given;

Settings read(const Given& given) { return read_settings(AsOptions(given)); }

std::string refusal(const Given& given) {
  return test::refusal_of([&] { read(given); });
}

class NftablesSettingsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesSettingsTest);
  CPPUNIT_TEST(without_options_defaults);
  CPPUNIT_TEST(every_key_is_read);
  CPPUNIT_TEST(interfaces_are_read_in_order);
  CPPUNIT_TEST(what_is_wrong_is_refused);
  CPPUNIT_TEST(every_key_is_described);
  CPPUNIT_TEST_SUITE_END();

  void without_options_defaults() {
    Given defaults;
    for (const abi::OptionSpec& spec : kOptions) {
      for (auto& value : test::default_of(spec)) defaults.push_back(std::move(value));
    }
    for (const Given& given : {Given{}, defaults}) {
      CPPUNIT_ASSERT(!read(given).counters);
      CPPUNIT_ASSERT(!read(given).offloads());
      CPPUNIT_ASSERT_EQUAL(Settings().affinity_clients, read(given).affinity_clients);
    }
  }

  void every_key_is_read() {
    const Settings settings = read({{"counters", "true"}, {"affinityClients", "1024"}});
    CPPUNIT_ASSERT(settings.counters);
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{1024}, settings.affinity_clients);
  }

  void interfaces_are_read_in_order() {
    const Settings settings = read({{"offloadInterfaces[0]", "eth0"}, {"offloadInterfaces[1]", "veth*"}, {"counters", "false"}});
    CPPUNIT_ASSERT((std::vector<std::string>{"eth0", "veth*"}) == settings.offload_interfaces);
    CPPUNIT_ASSERT(settings.offloads() && settings.lists_frontends());
    CPPUNIT_ASSERT(read({{"counters", "true"}}).lists_frontends());
    CPPUNIT_ASSERT(!read({}).lists_frontends());
    CPPUNIT_ASSERT_EQUAL(std::string("offloadInterfaces: cannot be combined with counters: true, as offloaded packets are not "
                                     "counted; remove one of them"),
                         refusal({{"counters", "true"}, {"offloadInterfaces[0]", "eth0"}}));
    Given many;
    for (int i = 0; i < 65; ++i) many.emplace_back("offloadInterfaces[" + std::to_string(i) + "]", "eth0");
    CPPUNIT_ASSERT(refusal(many).find("at most 64") != std::string::npos);
  }

  void what_is_wrong_is_refused() {
    for (const auto& [key, value] : Given{{"counters", "yes"},
                                          {"counters", ""},
                                          {"affinityClients", "1023"},
                                          {"affinityClients", "1048577"},
                                          {"affinityClients", "-1"},
                                          {"affinityClients", "many"}}) {
      const std::string said = refusal({{key, value}});
      CPPUNIT_ASSERT_MESSAGE(key + "=" + value + " gave " + said, said.starts_with(key + ": '" + value + "' is not"));
    }
    for (const std::string name : {"", "*", "a name", "eth0/1", "**", "e*0", "\"eth0\"", "sixteen-letters-"}) {
      const std::string said = refusal({{"offloadInterfaces[0]", name}});
      CPPUNIT_ASSERT_MESSAGE(name + " gave " + said, said.starts_with("offloadInterfaces[0]: '" + name + "' is not"));
    }
    CPPUNIT_ASSERT_EQUAL(std::string("counter: unknown setting; did you mean counters?"),
                         refusal({{"counter", "true"}}));
    const std::string other = refusal({{"queues", "1"}});
    CPPUNIT_ASSERT_MESSAGE(other, other.starts_with("queues: unknown setting; allowed: "));
  }

  void every_key_is_described() {
    test::expect_described(sdk::array(kOptions));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesSettingsTest);

}  // namespace settings_test
}  // namespace sluice::nftables
