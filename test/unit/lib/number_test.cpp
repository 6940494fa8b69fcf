// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/number.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cstdint>

namespace sluice::lib {
namespace number_test {

class NumberTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NumberTest);
  CPPUNIT_TEST(a_number_is_the_whole_text);
  CPPUNIT_TEST(a_number_fits_its_type_and_range);
  CPPUNIT_TEST(infinity_is_no_number);
  CPPUNIT_TEST(hexadecimal_digits_have_no_prefix);
  CPPUNIT_TEST(a_number_is_taken_from_the_beginning);
  CPPUNIT_TEST_SUITE_END();

  void a_number_is_the_whole_text() {
    CPPUNIT_ASSERT(parse_number<int>("-12") == -12);
    CPPUNIT_ASSERT(parse_number<int>("007") == 7);
    for (const char* text : {"", " 1", "1 ", "+1", "-", "--1", "1.0", "0x1", "one"}) {
      CPPUNIT_ASSERT_MESSAGE(text, !parse_number<int>(text));
    }
  }

  void a_number_fits_its_type_and_range() {
    CPPUNIT_ASSERT(parse_number<std::uint16_t>("65535") == 65535);
    CPPUNIT_ASSERT(!parse_number<std::uint16_t>("65536") && !parse_number<std::uint16_t>("-1"));
    CPPUNIT_ASSERT(parse_number(std::string_view("5"), 5, 6) && parse_number(std::string_view("6"), 5, 6));
    CPPUNIT_ASSERT(!parse_number(std::string_view("4"), 5, 6) && !parse_number(std::string_view("7"), 5, 6));
    std::uint8_t out = 1;
    CPPUNIT_ASSERT(!read_number("256", out) && !read_number("2x", out) && out == 1);
    CPPUNIT_ASSERT(read_number("255", out) && out == 255);
  }

  void infinity_is_no_number() {
    CPPUNIT_ASSERT(parse_number<double>("1.5") == 1.5);
    for (const char* text : {"inf", "-inf", "nan", "1e999"}) CPPUNIT_ASSERT_MESSAGE(text, !parse_number<double>(text));
  }

  void hexadecimal_digits_have_no_prefix() {
    CPPUNIT_ASSERT(parse_hex<std::uint32_t>("00ffC0") == 0xffc0u);
    CPPUNIT_ASSERT(!parse_hex<std::uint32_t>("0x1") && !parse_hex<std::uint32_t>("") &&
                   !parse_hex<std::uint32_t>("1g"));
  }

  void a_number_is_taken_from_the_beginning() {
    std::string_view text = "12.5";
    CPPUNIT_ASSERT(take_number<int>(text) == 12 && text == ".5");
    CPPUNIT_ASSERT(!take_number<int>(text) && text == ".5");
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NumberTest);

}  // namespace number_test
}  // namespace sluice::lib
