// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "sluice/sdk/deadline.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/common/fake_host.hpp"

namespace sluice::sdk {
namespace deadline_test {

class DeadlineTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DeadlineTest);
  CPPUNIT_TEST(without_a_deadline_there_is_no_limit);
  CPPUNIT_TEST(the_clock_of_the_host_reaches_the_deadline);
  CPPUNIT_TEST(a_cancelled_call_has_no_time_left);
  CPPUNIT_TEST_SUITE_END();

  void without_a_deadline_there_is_no_limit() {
    for (const Deadline& one : {Deadline(abi::Transaction(), host_), Deadline()}) {
      CPPUNIT_ASSERT(!one.cancelled() && !one.expired());
      CPPUNIT_ASSERT(one.remaining() == std::chrono::nanoseconds::max());
      one.check();
    }
  }

  void the_clock_of_the_host_reaches_the_deadline() {
    abi::Transaction transaction{};
    transaction.deadline = 100;
    const Deadline deadline(transaction, host_);
    host_.step = 0;
    host_.clock = 70;
    CPPUNIT_ASSERT(!deadline.expired());
    CPPUNIT_ASSERT_EQUAL(std::int64_t{30}, std::int64_t{deadline.remaining().count()});
    host_.clock = 100;
    CPPUNIT_ASSERT(deadline.expired());
    host_.clock = 170;
    CPPUNIT_ASSERT_EQUAL(std::int64_t{0}, std::int64_t{deadline.remaining().count()});
    deadline.check();  // the daemon still waits for the result
  }

  void a_cancelled_call_has_no_time_left() {
    std::uint32_t word = 0;
    abi::Transaction transaction{};
    transaction.cancelled = &word;
    const Deadline deadline(transaction, host_);
    CPPUNIT_ASSERT(!deadline.cancelled());
    deadline.check();
    word = 4;
    CPPUNIT_ASSERT(deadline.cancelled() && !deadline.expired());
    CPPUNIT_ASSERT_EQUAL(std::int64_t{0}, std::int64_t{deadline.remaining().count()});
    try {
      deadline.check();
      CPPUNIT_FAIL("not thrown");
    } catch (const Failure& failure) {
      CPPUNIT_ASSERT(failure.code() == abi::Code::kRetry);
    }
  }

  test::FakeHost host_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(DeadlineTest);

}  // namespace deadline_test
}  // namespace sluice::sdk
