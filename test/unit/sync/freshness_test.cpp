// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/freshness.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

namespace sluice::sync {
namespace freshness_test {

using namespace std::chrono_literals;

lib::Clock::Time at(int second) { return lib::Clock::Time(std::chrono::seconds(second)); }
std::chrono::system_clock::time_point wall(int second) {
  return std::chrono::system_clock::time_point(std::chrono::seconds(second));
}

class FreshnessTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(FreshnessTest);
  CPPUNIT_TEST(empty_before_the_loop_starts);
  CPPUNIT_TEST(pending_since_is_the_oldest_request);
  CPPUNIT_TEST(failure_keeps_the_age);
  CPPUNIT_TEST(success_covers_requests_before_the_run);
  CPPUNIT_TEST(run_without_a_request_is_pending);
  CPPUNIT_TEST(deferred_changes_keep_their_age);
  CPPUNIT_TEST_SUITE_END();

  Freshness fresh_;
  void expect_pending(std::optional<lib::Clock::Time> since) { CPPUNIT_ASSERT(fresh_.value().pending_since == since); }

  void empty_before_the_loop_starts() {
    CPPUNIT_ASSERT(!fresh_.value().last_updated && !fresh_.value().begun);
    expect_pending({});
    fresh_.begun(wall(7), at(3));
    CPPUNIT_ASSERT(fresh_.value().last_updated == wall(7));
    CPPUNIT_ASSERT(fresh_.value().begun == at(3) && !fresh_.value().last_synced);
    fresh_.updated(wall(9));
    CPPUNIT_ASSERT(fresh_.value().last_updated == wall(9) && fresh_.value().last_synced == wall(9));
  }

  void pending_since_is_the_oldest_request() {
    fresh_.requested(at(10));
    fresh_.requested(at(20));
    expect_pending(at(10));
    fresh_.taken(at(21));
    expect_pending(at(10));
    fresh_.updated(wall(22));
    expect_pending({});
    CPPUNIT_ASSERT(fresh_.value().last_updated == wall(22));
  }

  void deferred_changes_keep_their_age() {
    fresh_.begun(wall(1), at(1));
    fresh_.requested(at(10));
    fresh_.taken(at(11));
    fresh_.requested(at(12));
    fresh_.updated_partly();
    expect_pending(at(10));
    CPPUNIT_ASSERT(fresh_.value().last_updated == wall(1) && !fresh_.value().last_synced);
    fresh_.taken(at(13));
    fresh_.updated(wall(14));
    expect_pending({});
    CPPUNIT_ASSERT(fresh_.value().last_synced == wall(14));
  }

  void failure_keeps_the_age() {
    fresh_.requested(at(10));
    fresh_.taken(at(11));
    fresh_.requested(at(12));
    fresh_.taken(at(13));  // without updated(): the first run failed
    expect_pending(at(10));
    fresh_.updated(wall(14));
    expect_pending({});
  }

  void success_covers_requests_before_the_run() {
    fresh_.requested(at(10));
    fresh_.taken(at(11));
    fresh_.requested(at(12));
    fresh_.requested(at(13));
    expect_pending(at(10));
    fresh_.updated(wall(14));
    expect_pending(at(12));
  }

  void run_without_a_request_is_pending() {
    fresh_.taken(at(30));
    expect_pending(at(30));
    fresh_.updated(wall(31));
    expect_pending({});
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(FreshnessTest);

}  // namespace freshness_test
}  // namespace sluice::sync
