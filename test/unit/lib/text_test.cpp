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
  CPPUNIT_TEST(numbers_are_joined_as_a_projection_prints_them);
  CPPUNIT_TEST(texts_are_split_at_separators);
  CPPUNIT_TEST(capital_letters_of_ascii_become_small);
  CPPUNIT_TEST(repeated_values_are_removed);
  CPPUNIT_TEST(percent_signs_are_decoded);
  CPPUNIT_TEST_SUITE_END();

  void white_space_is_trimmed_at_the_ends() {
    CPPUNIT_ASSERT_EQUAL(std::string("a b"), std::string(trimmed(" \t\r\n\v\fa b\n ")));
    CPPUNIT_ASSERT(trimmed(" \n").empty() && trimmed("").empty());
  }

  void texts_are_joined_with_a_separator() {
    CPPUNIT_ASSERT_EQUAL(std::string(), joined(std::vector<std::string>{}));
    CPPUNIT_ASSERT_EQUAL(std::string("a, b"), joined(std::vector<std::string>{"a", "b"}));
    CPPUNIT_ASSERT_EQUAL(std::string("; a; "), joined(std::vector<std::string>{"", "a", ""}, "; "));
  }

  void numbers_are_joined_as_a_projection_prints_them() {
    CPPUNIT_ASSERT_EQUAL(std::string("1, 2"), joined(std::vector<int>{1, 2}, ", ", [](int n) { return std::to_string(n); }));
  }

  void texts_are_split_at_separators() {
    CPPUNIT_ASSERT((split("a,,b", ',') == std::vector<std::string>{"a", "", "b"}));
    CPPUNIT_ASSERT((split("a,", ',') == std::vector<std::string>{"a", ""}));
    CPPUNIT_ASSERT((split("", ',') == std::vector<std::string>{""}));
    std::string_view text = "a=b=c";
    CPPUNIT_ASSERT(take_part(text, '=') == "a" && text == "b=c");
    CPPUNIT_ASSERT(take_part(text, ';') == "b=c" && text.empty());
  }

  void capital_letters_of_ascii_become_small() {
    CPPUNIT_ASSERT_EQUAL(std::string("az-[`Ã"), lower_case("AZ-[`Ã"));
  }

  void repeated_values_are_removed() {
    std::vector<int> numbers{3, 1, 3, 2, 1};
    sort_unique(numbers);
    CPPUNIT_ASSERT(numbers == std::vector<int>({1, 2, 3}));
  }

  void percent_signs_are_decoded() {
    std::string out;
    CPPUNIT_ASSERT(decode_percent("a%40%fF" + percent_encoded("\x01 %", ""), out));
    CPPUNIT_ASSERT_EQUAL(std::string("a@\xff\x01 %"), out);
    CPPUNIT_ASSERT(!decode_percent("%4g%-1%0x%%4", out));
    CPPUNIT_ASSERT_EQUAL(std::string("a@\xff\x01 %%4g%-1%0x%%4"), out);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(TextTest);

}  // namespace text_test
}  // namespace sluice::lib
