// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/text.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

namespace sluice::lib {
namespace text_test {

class TextTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(TextTest);
  CPPUNIT_TEST(white_space_is_trimmed_at_the_ends);
  CPPUNIT_TEST(texts_are_joined_with_a_separator);
  CPPUNIT_TEST(repeated_values_are_removed);
  CPPUNIT_TEST_SUITE_END();

  void white_space_is_trimmed_at_the_ends() {
    CPPUNIT_ASSERT_EQUAL(std::string("a b"), std::string(trimmed(" \t\r\n\v\fa b\n ")));
    CPPUNIT_ASSERT(trimmed(" \n").empty() && trimmed("").empty());
  }

  void texts_are_joined_with_a_separator() {
    CPPUNIT_ASSERT_EQUAL(std::string(), joined({}));
    CPPUNIT_ASSERT_EQUAL(std::string("a, b"), joined({"a", "b"}));
    CPPUNIT_ASSERT_EQUAL(std::string("; a; "), joined({"", "a", ""}, "; "));
  }

  void repeated_values_are_removed() {
    std::vector<int> numbers{3, 1, 3, 2, 1};
    sort_unique(numbers);
    CPPUNIT_ASSERT(numbers == std::vector<int>({1, 2, 3}));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(TextTest);

}  // namespace text_test
}  // namespace sluice::lib
