// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend's own settings: values, refusals, documentation.
#include "plugins/nftables/settings.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "sluice/sdk/error.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::nftables {
namespace settings_test {

using Given = std::vector<std::pair<std::string, std::string>>;

Settings read(const Given& given) {
  std::vector<abi::Option> options;
  for (const auto& [key, value] : given) options.push_back({sdk::view(key), sdk::view(value)});
  return read_settings(sdk::Options(sdk::array(options.data(), options.size())));
}

std::string refusal(const Given& given) {
  try {
    read(given);
  } catch (const sdk::Failure& failure) {
    CPPUNIT_ASSERT(failure.code() == abi::Code::kInvalid);
    return failure.object() + ": " + failure.what();
  }
  return {};
}

class NftablesSettingsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesSettingsTest);
  CPPUNIT_TEST(without_options_defaults);
  CPPUNIT_TEST(every_key_is_read);
  CPPUNIT_TEST(what_is_wrong_is_refused);
  CPPUNIT_TEST(the_documentation_has_every_key_and_default);
  CPPUNIT_TEST_SUITE_END();

  void without_options_defaults() {
    Given defaults;
    for (const SettingKey& key : setting_keys()) defaults.emplace_back(key.key, key.as_default);
    for (const Given& given : {Given{}, defaults}) {
      CPPUNIT_ASSERT(!read(given).counters);
      CPPUNIT_ASSERT_EQUAL(Settings().affinity_clients, read(given).affinity_clients);
    }
  }

  void every_key_is_read() {
    const Settings settings = read({{"counters", "true"}, {"affinityClients", "1024"}});
    CPPUNIT_ASSERT(settings.counters);
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{1024}, settings.affinity_clients);
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
    CPPUNIT_ASSERT_EQUAL(std::string("counter: unknown setting; did you mean counters?"),
                         refusal({{"counter", "true"}}));
    const std::string other = refusal({{"queues", "1"}});
    CPPUNIT_ASSERT_MESSAGE(other, other.starts_with("queues: unknown setting; the nftables backend knows "));
  }

  void the_documentation_has_every_key_and_default() {
    const char* folder = std::getenv("SLUICE_SRCDIR");
    CPPUNIT_ASSERT_MESSAGE("SLUICE_SRCDIR is not set", folder != nullptr);
    std::ifstream file(std::string(folder) + "/docs/operations.md");
    const std::regex row(R"(\| `([A-Za-z.]+)` \| (?:`([^`]*)`)? ?\| [^|]+ \|)");
    std::map<std::string, std::string> documented;
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("## ")) inside = line == "## Nftables mode: settings";
      if (std::smatch match; inside && std::regex_match(line, match, row)) documented[match[1]] = match[2];
    }
    std::map<std::string, std::string> known;
    for (const SettingKey& key : setting_keys()) known.emplace(key.key, key.as_default);
    CPPUNIT_ASSERT(known == documented);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesSettingsTest);

}  // namespace settings_test
}  // namespace sluice::nftables
