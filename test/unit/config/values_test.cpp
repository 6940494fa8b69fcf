// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/values.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "lib/duration.hpp"

namespace sluice::config {
namespace values_test {

using namespace std::chrono_literals;

class ValuesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ValuesTest);
  CPPUNIT_TEST(parses_booleans_like_go);
  CPPUNIT_TEST(parses_numbers_with_the_bases_of_go);
  CPPUNIT_TEST(numbers_are_range_checked);
  CPPUNIT_TEST(decimals_are_finite_numbers);
  CPPUNIT_TEST(parses_durations_like_go);
  CPPUNIT_TEST(rejects_malformed_durations);
  CPPUNIT_TEST(prints_durations_that_can_be_parsed);
  CPPUNIT_TEST(lists_split_at_commas_only);
  CPPUNIT_TEST_SUITE_END();

 public:
  void parses_booleans_like_go() {
    for (const char* yes : {"1", "t", "T", "true", "True", "TRUE"}) CPPUNIT_ASSERT(parse_boolean(yes) == true);
    for (const char* no : {"0", "f", "F", "false", "False", "FALSE"}) CPPUNIT_ASSERT(parse_boolean(no) == false);
    for (const char* bad : {"", "yes", "no", "tRUE", " true", "2"}) CPPUNIT_ASSERT(!parse_boolean(bad));
  }

  void parses_numbers_with_the_bases_of_go() {
    CPPUNIT_ASSERT_EQUAL(14, parse_number("14").value());
    CPPUNIT_ASSERT_EQUAL(-999, parse_number("-999").value());
    CPPUNIT_ASSERT_EQUAL(7, parse_number("+7").value());
    CPPUNIT_ASSERT_EQUAL(0, parse_number("0").value());
    CPPUNIT_ASSERT_EQUAL(255, parse_number("0xfF").value());
    CPPUNIT_ASSERT_EQUAL(8, parse_number("010").value());
    CPPUNIT_ASSERT_EQUAL(8, parse_number("0o10").value());
    CPPUNIT_ASSERT_EQUAL(5, parse_number("0b101").value());
    for (const char* bad : {"", "-", "--1", "+-1", "0x", "0x-1", "1.5", "1e3", " 1", "1 ", "08", "four"}) {
      CPPUNIT_ASSERT_MESSAGE(bad, !parse_number(bad));
    }
  }

  void numbers_are_range_checked() {
    CPPUNIT_ASSERT_EQUAL(2147483647, parse_number("2147483647").value());
    CPPUNIT_ASSERT(!parse_number("2147483648"));
    CPPUNIT_ASSERT(parse_number("-2147483648").has_value());
    CPPUNIT_ASSERT(!parse_number("-2147483649"));
    CPPUNIT_ASSERT(!parse_number("99999999999999999999"));
  }

  void decimals_are_finite_numbers() {
    CPPUNIT_ASSERT_EQUAL(5.0, parse_decimal("5").value());
    CPPUNIT_ASSERT_EQUAL(0.5, parse_decimal("0.5").value());
    CPPUNIT_ASSERT_EQUAL(0.5, parse_decimal(".5").value());
    CPPUNIT_ASSERT_EQUAL(-1.0, parse_decimal("-1").value());
    CPPUNIT_ASSERT_EQUAL(1000.0, parse_decimal("+1e3").value());
    for (const char* bad : {"", "-", "+", "++1", "+-1", "1x", " 1", "1 ", "0x10", "1,5", "nan", "inf", "1e999"}) {
      CPPUNIT_ASSERT_MESSAGE(bad, !parse_decimal(bad));
    }
  }

  void parses_durations_like_go() {
    CPPUNIT_ASSERT(lib::parse_duration("30s") == 30s);
    CPPUNIT_ASSERT(lib::parse_duration("1m30s") == 90s);
    CPPUNIT_ASSERT(lib::parse_duration("1h1m1s1ms1us1ns") == 1h + 1min + 1s + 1ms + 1us + 1ns);
    CPPUNIT_ASSERT(lib::parse_duration("1.5h") == 90min);
    CPPUNIT_ASSERT(lib::parse_duration(".5s") == 500ms);
    CPPUNIT_ASSERT(lib::parse_duration("1.s") == 1s);
    CPPUNIT_ASSERT(lib::parse_duration("-2ms") == -2ms);
    CPPUNIT_ASSERT(lib::parse_duration("+2ms") == 2ms);
    CPPUNIT_ASSERT(lib::parse_duration("0") == 0s);
    CPPUNIT_ASSERT(lib::parse_duration("0s") == 0s);
    CPPUNIT_ASSERT(lib::parse_duration("3\u00b5s") == 3us);
    CPPUNIT_ASSERT(lib::parse_duration("3\u03bcs") == 3us);
    CPPUNIT_ASSERT(lib::parse_duration("2540400h") == 2540400h);
  }

  void rejects_malformed_durations() {
    for (const char* bad : {"", "-", "30", "s", ".s", "1d", "1 s", "1s ", "1m30", "1,5s", "--1s", "9999999999h",
                            "99999999999999999999s", "9223372036s9223372036s"}) {
      CPPUNIT_ASSERT_MESSAGE(bad, !lib::parse_duration(bad));
    }
  }

  void prints_durations_that_can_be_parsed() {
    CPPUNIT_ASSERT_EQUAL(std::string("0s"), print_duration(0s));
    CPPUNIT_ASSERT_EQUAL(std::string("1m30s"), print_duration(90s));
    CPPUNIT_ASSERT_EQUAL(std::string("500ms"), print_duration(500ms));
    CPPUNIT_ASSERT_EQUAL(std::string("-1h1ns"), print_duration(-1h - 1ns));
    for (const auto value : {1ns, std::chrono::nanoseconds(90s), std::chrono::nanoseconds(36h + 7us)}) {
      CPPUNIT_ASSERT(lib::parse_duration(print_duration(value)) == value);
    }
  }

  void lists_split_at_commas_only() {
    CPPUNIT_ASSERT(split_list("").empty());
    CPPUNIT_ASSERT(split_list("a") == std::vector<std::string>{"a"});
    CPPUNIT_ASSERT((split_list("a,b, c,") == std::vector<std::string>{"a", "b", " c", ""}));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ValuesTest);

}  // namespace values_test
}  // namespace sluice::config
