// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/queue.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <thread>

#include "lib/backoff.hpp"
#include "test/unit/sync/fake_clock.hpp"

namespace sluice::lib {
namespace queue_test {

using namespace std::chrono_literals;

class QueueTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(QueueTest);
  CPPUNIT_TEST(values_keep_their_order);
  CPPUNIT_TEST(a_full_queue_blocks_the_writer);
  CPPUNIT_TEST(close_releases_writers_and_readers);
  CPPUNIT_TEST(backoff_doubles_to_its_limit_with_jitter_and_resets);
  CPPUNIT_TEST_SUITE_END();

  void values_keep_their_order() {
    HandoverQueue<int> queue;
    for (int i = 0; i < 3; ++i) queue.put(i);
    const auto taken = queue.take_all();
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), taken.size());
    CPPUNIT_ASSERT_EQUAL(0, taken[0]);
    CPPUNIT_ASSERT_EQUAL(2, taken[2]);
    CPPUNIT_ASSERT(queue.take_all(Clock::Time::min()).empty());
  }

  void a_full_queue_blocks_the_writer() {
    HandoverQueue<int> queue(1);
    queue.put(1);
    std::thread writer([&] { queue.put(2); });
    std::size_t taken = queue.take_all().size();
    while (taken < 2) taken += queue.take_all().size();
    writer.join();
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), taken);
  }

  void close_releases_writers_and_readers() {
    HandoverQueue<int> queue(1);
    queue.put(1);
    bool accepted = true;
    std::thread writer([&] { accepted = queue.put(2); });
    queue.close();
    writer.join();
    CPPUNIT_ASSERT(!accepted);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), queue.take_all().size());
    CPPUNIT_ASSERT(queue.take_all().empty());
    CPPUNIT_ASSERT(queue.closed());
  }

  void backoff_doubles_to_its_limit_with_jitter_and_resets() {  // BEH 1.5
    test::FakeClock clock;
    double random = 0;
    Backoff backoff({}, clock, [&] { return random; });
    CPPUNIT_ASSERT(backoff.next() == 800ms);
    CPPUNIT_ASSERT(backoff.next() == 1600ms);
    random = 0.5;
    CPPUNIT_ASSERT(backoff.next() == 4800ms);
    random = 0;
    for (int i = 0; i < 10; ++i) backoff.next();
    CPPUNIT_ASSERT(backoff.next() == 30000ms);
    clock.advance(120s);
    CPPUNIT_ASSERT(backoff.next() == 800ms);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(QueueTest);

}  // namespace queue_test
}  // namespace sluice::lib
