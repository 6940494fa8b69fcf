// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/status_facts.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "sluice/sdk/views.hpp"

namespace sluice::plugin {
namespace status_facts_test {

class StatusFactsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(StatusFactsTest);
  CPPUNIT_TEST(the_last_value_of_a_name_counts);
  CPPUNIT_TEST(an_empty_value_removes_the_fact);
  CPPUNIT_TEST(texts_are_one_line_and_bounded);
  CPPUNIT_TEST(the_number_of_facts_is_bounded);
  CPPUNIT_TEST_SUITE_END();

  StatusFacts facts_;

  void set(const std::string& name, const std::string& value, const std::string& remedy = {}) {
    facts_.set(sdk::view(name), sdk::view(value), sdk::view(remedy));
  }
  std::string all() const {
    std::string out;
    for (const StatusFact& fact : facts_.all()) out += fact.name + "=" + fact.value + "(" + fact.remedy + ");";
    return out;
  }

  void the_last_value_of_a_name_counts() {
    set("link", "down", "connect it");
    set("firmware", "2.1");
    set("link", "up");
    CPPUNIT_ASSERT_EQUAL(std::string("firmware=2.1();link=up();"), all());
  }

  void an_empty_value_removes_the_fact() {
    set("link", "down");
    set("link", "");
    set("firmware", "");
    CPPUNIT_ASSERT_EQUAL(std::string(), all());
  }

  void texts_are_one_line_and_bounded() {
    set("", "x");
    set(std::string(StatusFacts::kMaxText + 1, 'n'), "x");
    CPPUNIT_ASSERT_EQUAL(std::string(), all());
    set("a\nb", "c\nd", "e\tf");
    CPPUNIT_ASSERT_EQUAL(std::string("a b=c d(e f);"), all());
    set("a b", std::string(StatusFacts::kMaxText - 1, 'x') + "\xc3\xa4", std::string(500, 'y'));
    const StatusFact fact = facts_.all().at(0);
    CPPUNIT_ASSERT_EQUAL(std::string(StatusFacts::kMaxText - 1, 'x'), fact.value);  // not half a character
    CPPUNIT_ASSERT_EQUAL(std::string(StatusFacts::kMaxText, 'y'), fact.remedy);
  }

  void the_number_of_facts_is_bounded() {
    for (std::size_t i = 0; i < StatusFacts::kMaxFacts + 5; ++i) set("fact " + std::to_string(100 + i), "x");
    CPPUNIT_ASSERT_EQUAL(StatusFacts::kMaxFacts, facts_.all().size());
    set("fact 100", "y");  // known ones change
    CPPUNIT_ASSERT_EQUAL(std::string("y"), facts_.all().at(0).value);
    set("fact 100", "");
    set("another", "z");
    CPPUNIT_ASSERT_EQUAL(std::string("another"), facts_.all().at(0).name);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(StatusFactsTest);

}  // namespace status_facts_test
}  // namespace sluice::plugin
