// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Options of plugins of the zoo, by the declarations in their descriptors.
#include "core/lifecycle/option_check.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <string>

#include "test/unit/plugin/zoo_folder.hpp"

namespace sluice::lifecycle {
namespace option_check_test {

using test::ZooFolder;

class OptionCheckTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(OptionCheckTest);
  CPPUNIT_TEST(all_problems_have_their_key);
  CPPUNIT_TEST(restart_options_have_their_values_and_defaults);
  CPPUNIT_TEST(a_plugin_without_declarations_validates_its_options);
  CPPUNIT_TEST(a_plugin_that_cannot_be_loaded_is_reported_by_its_user);
  CPPUNIT_TEST(a_replaced_plugin_is_read_again);
  CPPUNIT_TEST_SUITE_END();

  static config::CheckedOptions check(OptionCheck& check, const ZooFolder& folder, const std::string& id,
                                      const config::OptionTexts& given) {
    config::PluginSettings plugins;
    plugins.folders = {folder.path().string()};
    return check.check(plugins, id, given, /*running=*/true);
  }
  static config::CheckedOptions check_new(const std::string& id, const config::OptionTexts& given) {
    const ZooFolder folder;
    folder.add(id);
    OptionCheck made;
    return check(made, folder, id, given);
  }

  void all_problems_have_their_key() {
    const auto checked = check_new("options", {{"colour", "pink"}, {"future", "any"}, {"threads", "0"}, {"thread", "1"}});
    using Problem = std::pair<std::string, std::string>;
    const std::vector<Problem> wanted{
        {"colour", "'pink' is not a valid value; allowed: red, green or blue"},
        {"thread", "unknown setting; did you mean threads?"},
        {"threads", "'0' is not a valid value; allowed: a number of threads from 1 to 64"}};
    CPPUNIT_ASSERT(wanted == checked.problems);
    CPPUNIT_ASSERT(check_new("options", {{"names[0]", "x"}}).problems.empty());
  }

  void restart_options_have_their_values_and_defaults() {
    using RestartOptions = std::map<std::string, std::string>;
    CPPUNIT_ASSERT((RestartOptions{{"threads", "4"}}) == check_new("options", {}).restart_options);
    CPPUNIT_ASSERT((RestartOptions{{"threads", "8"}}) == check_new("options", {{"threads", "008"}}).restart_options);
  }

  void a_plugin_without_declarations_validates_its_options() {
    CPPUNIT_ASSERT(check_new("good", {{"anything", "1"}}).problems.empty());
    CPPUNIT_ASSERT(check_new("older_minor", {{"anything", "1"}}).problems.empty());
  }

  void a_plugin_that_cannot_be_loaded_is_reported_by_its_user() {
    CPPUNIT_ASSERT(check_new("bad_options", {{"anything", "1"}}).problems.empty());
    const ZooFolder folder;
    OptionCheck made;
    CPPUNIT_ASSERT(check(made, folder, "missing", {{"anything", "1"}}).problems.empty());
  }

  void a_replaced_plugin_is_read_again() {
    const ZooFolder folder;
    folder.add("good", "options");  // rejected because of its id
    OptionCheck made;
    CPPUNIT_ASSERT(check(made, folder, "options", {{"threads", "0"}}).problems.empty());
    folder.add("options");
    for (int i = 0; i < 2; ++i) {
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, check(made, folder, "options", {{"threads", "0"}}).problems.size());
    }
    CPPUNIT_ASSERT(!test::is_mapped(folder.path() / "options.so"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(OptionCheckTest);

}  // namespace option_check_test
}  // namespace sluice::lifecycle
