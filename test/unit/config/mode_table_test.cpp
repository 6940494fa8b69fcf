// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/mode_table.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "core/config/flag_table.hpp"
#include "core/config/option_readers.hpp"

namespace sluice::config {
namespace mode_table_test {

class ModeTableTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ModeTableTest);
  CPPUNIT_TEST(has_a_row_for_each_mode);
  CPPUNIT_TEST(auto_tries_nftables_and_then_iptables);
  CPPUNIT_TEST(the_flag_names_the_default_and_the_preferred_modes);
  CPPUNIT_TEST(other_backends_use_the_section_of_the_default_mode);
  CPPUNIT_TEST_SUITE_END();

 public:
  void has_a_row_for_each_mode() {
    CPPUNIT_ASSERT_EQUAL(names::kModes.size(), mode_table().size());
    for (const names::Mode& mode : names::kModes) {
      CPPUNIT_ASSERT_EQUAL(std::string(mode.id), std::string(mode_facts(mode.id).id));
    }
  }

  void auto_tries_nftables_and_then_iptables() {
    CPPUNIT_ASSERT((preferred_modes() == std::vector<std::string>{"nftables", "iptables"}));
  }

  void the_flag_names_the_default_and_the_preferred_modes() {
    const Option* const flag = find_flag("proxy-mode");
    CPPUNIT_ASSERT_EQUAL(std::string("iptables"), default_text(*flag));
    std::string words;
    for (const std::string& id : preferred_modes()) words.append(words.empty() ? "the first of " : " and ").append(id);
    CPPUNIT_ASSERT_MESSAGE(words, flag->help.find(words) != std::string_view::npos);
  }

  void other_backends_use_the_section_of_the_default_mode() {
    for (const std::string_view backend : {"com.example.dpu", "auto", ""}) {
      const ModeFacts& facts = mode_facts(backend);
      CPPUNIT_ASSERT(facts.id.empty() && !facts.group && facts.deprecation.empty());
      CPPUNIT_ASSERT(facts.periods == mode_facts(kDefaultMode).periods);
      CPPUNIT_ASSERT(facts.masquerading == mode_facts(kDefaultMode).masquerading);
    }
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(ModeTableTest);

}  // namespace mode_table_test
}  // namespace sluice::config
