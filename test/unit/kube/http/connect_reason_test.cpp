// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/connect_reason.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cerrno>

#include "test/unit/sync/fake_clock.hpp"

namespace sluice::kube {
namespace connect_reason_test {

class ConnectReasonTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ConnectReasonTest);
  CPPUNIT_TEST(connects_once_a_minute_while_the_address_fails);
  CPPUNIT_TEST(each_address_and_port_has_its_own_reason);
  CPPUNIT_TEST(a_connection_that_works_is_not_remembered);
  CPPUNIT_TEST(forgotten_reasons_are_found_again);
  CPPUNIT_TEST_SUITE_END();

  int find(const char* address = "10.0.0.1", std::uint16_t port = 6443) {
    return reason_.find(*lib::IpAddress::parse(address), port).os_errno();
  }

  void connects_once_a_minute_while_the_address_fails() {
    for (int second = 0; second < 60; ++second) {
      CPPUNIT_ASSERT_EQUAL(ECONNREFUSED, find());
      clock_.advance(std::chrono::seconds(1));
    }
    CPPUNIT_ASSERT_EQUAL(1, connects_);
    error_ = EHOSTUNREACH;
    CPPUNIT_ASSERT_EQUAL(EHOSTUNREACH, find());
    CPPUNIT_ASSERT_EQUAL(2, connects_);
  }

  void each_address_and_port_has_its_own_reason() {
    find();
    error_ = EHOSTUNREACH;
    CPPUNIT_ASSERT_EQUAL(EHOSTUNREACH, find("10.0.0.2"));
    CPPUNIT_ASSERT_EQUAL(EHOSTUNREACH, find("10.0.0.1", 443));
    CPPUNIT_ASSERT_EQUAL(ECONNREFUSED, find());
    CPPUNIT_ASSERT_EQUAL(3, connects_);
  }

  void a_connection_that_works_is_not_remembered() {
    error_ = 0;
    CPPUNIT_ASSERT_EQUAL(0, find());
    error_ = ECONNREFUSED;
    CPPUNIT_ASSERT_EQUAL(ECONNREFUSED, find());
  }

  void forgotten_reasons_are_found_again() {
    find();
    reason_.forget();
    error_ = EHOSTUNREACH;
    CPPUNIT_ASSERT_EQUAL(EHOSTUNREACH, find());
  }

  test::FakeClock clock_;
  int connects_ = 0;
  int error_ = ECONNREFUSED;
  ConnectReason reason_{clock_, [this](const lib::IpAddress&, std::uint16_t) {
                          ++connects_;
                          return error_ == 0 ? lib::Status() : lib::errno_status("connect", error_);
                        }};
};

CPPUNIT_TEST_SUITE_REGISTRATION(ConnectReasonTest);

}  // namespace connect_reason_test
}  // namespace sluice::kube
