// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/sync_pace.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace sluice::sync {
namespace sync_pace_test {

using namespace std::chrono_literals;
using Duration = lib::Clock::Duration;
using Time = lib::Clock::Time;

class SyncPaceTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SyncPaceTest);
  CPPUNIT_TEST(two_runs_in_a_row_need_no_pause);
  CPPUNIT_TEST(cheap_runs_are_limited_to_a_hundred_per_second);
  CPPUNIT_TEST(a_run_per_second_never_waits);
  CPPUNIT_TEST(the_share_of_a_processor_is_bounded_under_load);
  CPPUNIT_TEST(no_pause_is_longer_than_a_second);
  CPPUNIT_TEST(one_costly_run_hardly_delays_the_next_ones);
  CPPUNIT_TEST(a_cost_that_stays_high_is_the_average_after_a_few_runs);
  CPPUNIT_TEST(a_cost_that_falls_is_forgotten);
  CPPUNIT_TEST_SUITE_END();

  SyncPace pace_;
  Time now_{1h};

  // Returns the pause before the run.
  Duration run(Duration cost) {
    const Time start = std::max(now_, pace_.earliest());
    const Duration waited = start - now_;
    now_ = start + cost;
    pace_.ran(start, now_, cost);
    return waited;
  }

  void two_runs_in_a_row_need_no_pause() {
    for (const Duration cost : {Duration(1us), Duration(1ms), Duration(150ms), Duration(5s)}) {
      pace_ = {};
      now_ += 1h;
      for (int i = 0; i < 30; ++i) {
        CPPUNIT_ASSERT(run(cost) == 0ns);
        CPPUNIT_ASSERT(run(cost) == 0ns);
        CPPUNIT_ASSERT(run(cost) > 0ns);
        now_ += 3s;
      }
    }
  }

  void cheap_runs_are_limited_to_a_hundred_per_second() {
    const Time begin = now_;
    int runs = 0;
    while (now_ < begin + 10s) {
      run(10us);
      ++runs;
    }
    CPPUNIT_ASSERT(runs > 980 && runs <= 1002);
  }

  void a_run_per_second_never_waits() {
    for (int i = 0; i < 100; ++i) {
      CPPUNIT_ASSERT(run(150ms) == 0ns);
      now_ += 1s;
    }
  }

  // Whatever the costs, with changes that wait all the time and with changes now and then.
  void the_share_of_a_processor_is_bounded_under_load() {
    std::mt19937 random(7);
    for (const Duration typical : {Duration(100us), Duration(1ms), Duration(8ms), Duration(20ms)}) {
      for (const Duration idle : {Duration(0), Duration(30ms), Duration(2s)}) {
        pace_ = {};
        now_ += 1h;
        const Time begin = now_;
        Duration used{};
        std::uniform_real_distribution<double> factor(0.2, 3);
        std::uniform_real_distribution<double> rest(0, 2);
        for (int i = 0; i < 5000; ++i) {
          const auto cost = std::chrono::duration_cast<Duration>(typical * factor(random));
          used += cost;
          run(cost);
          now_ += std::chrono::duration_cast<Duration>(idle * rest(random));
        }
        const double share = std::chrono::duration<double>(used) / (now_ - begin);
        CPPUNIT_ASSERT_MESSAGE(std::to_string(typical.count()) + " " + std::to_string(share), share < 0.05);
      }
    }
  }

  void no_pause_is_longer_than_a_second() {
    for (int i = 0; i < 50; ++i) CPPUNIT_ASSERT(run(3s) <= 1s);
    CPPUNIT_ASSERT(pace_.gap() == 1s);
  }

  // A full sync after a start, or a repair of drift.
  void one_costly_run_hardly_delays_the_next_ones() {
    for (int i = 0; i < 20; ++i) run(300us);
    run(2s);
    for (int i = 0; i < 4; ++i) CPPUNIT_ASSERT(run(300us) < 50ms);
    for (int i = 0; i < 10; ++i) run(300us);
    CPPUNIT_ASSERT(pace_.gap() == 10ms);
  }

  void a_cost_that_stays_high_is_the_average_after_a_few_runs() {
    for (int i = 0; i < 12; ++i) run(40ms);
    CPPUNIT_ASSERT(pace_.gap() > 700ms && pace_.gap() <= 800ms);
  }

  void a_cost_that_falls_is_forgotten() {
    for (int i = 0; i < 30; ++i) run(40ms);
    for (int i = 0; i < 20; ++i) run(100us);
    CPPUNIT_ASSERT(pace_.gap() == 10ms);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(SyncPaceTest);

}  // namespace sync_pace_test
}  // namespace sluice::sync
