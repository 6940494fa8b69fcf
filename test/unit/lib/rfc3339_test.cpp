// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/rfc3339.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

namespace sluice::lib {
namespace rfc3339_test {

using namespace std::chrono_literals;

class Rfc3339Test : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(Rfc3339Test);
  CPPUNIT_TEST(the_fraction_has_the_requested_digits);
  CPPUNIT_TEST(times_survive_a_round_trip_to_the_nanosecond);
  CPPUNIT_TEST_SUITE_END();

  static std::string text(std::chrono::nanoseconds since, Fraction fraction) {
    return rfc3339(std::chrono::system_clock::time_point(since), fraction);
  }

  void the_fraction_has_the_requested_digits() {
    const auto time = 1'000'000'000s + 120'000'000ns;
    CPPUNIT_ASSERT_EQUAL(std::string("2001-09-09T01:46:40Z"), text(time, Fraction::none));
    CPPUNIT_ASSERT_EQUAL(std::string("2001-09-09T01:46:40.120Z"), text(time, Fraction::milliseconds));
    CPPUNIT_ASSERT_EQUAL(std::string("2001-09-09T01:46:40.120000Z"), text(time, Fraction::microseconds));
    CPPUNIT_ASSERT_EQUAL(std::string("2001-09-09T01:46:40.120000000Z"), text(time, Fraction::nanoseconds_or_none));
    CPPUNIT_ASSERT_EQUAL(std::string("2001-09-09T01:46:40.12Z"), text(time, Fraction::shortest));
    CPPUNIT_ASSERT_EQUAL(std::string("1970-01-01T00:00:00.000Z"), text(0s, Fraction::milliseconds));
    CPPUNIT_ASSERT_EQUAL(std::string("1970-01-01T00:00:10Z"), text(10s, Fraction::nanoseconds_or_none));
    CPPUNIT_ASSERT_EQUAL(std::string("1970-01-01T00:00:10Z"), text(10s, Fraction::shortest));
  }

  void times_survive_a_round_trip_to_the_nanosecond() {
    for (const std::string written : {"1970-01-01T00:00:00Z", "2026-11-21T06:59:59.000000001Z",
                                      "2024-02-29T23:59:59.999999999Z", "2199-12-31T23:59:59.5Z"}) {
      const auto time = parse_rfc3339(written);
      CPPUNIT_ASSERT_MESSAGE(written, time.has_value());
      CPPUNIT_ASSERT_MESSAGE(written, parse_rfc3339(rfc3339(*time, Fraction::nanoseconds_or_none)) == time);
      CPPUNIT_ASSERT_EQUAL(written, rfc3339(*time, Fraction::shortest));
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(Rfc3339Test);

}  // namespace rfc3339_test
}  // namespace sluice::lib
