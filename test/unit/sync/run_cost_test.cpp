// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/run_cost.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

#include "test/unit/sync/fake_clock.hpp"

namespace sluice::sync {
namespace run_cost_test {

using namespace std::chrono_literals;

void use_processor(lib::Clock::Duration time) {
  const auto used = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  const auto begin = used();
  while (used() < begin + time) continue;
}

class RunCostTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RunCostTest);
  CPPUNIT_TEST(the_thread_counts);
  CPPUNIT_TEST(programs_that_ended_count);
  CPPUNIT_TEST(the_elapsed_time_is_the_limit);
  CPPUNIT_TEST_SUITE_END();

  test::FakeClock clock_;

  void the_thread_counts() {
    const RunCost cost(clock_);
    clock_.advance(1h);
    CPPUNIT_ASSERT(cost.so_far() < 1s);
    use_processor(20ms);
    CPPUNIT_ASSERT(cost.so_far() >= 20ms);
  }

  void programs_that_ended_count() {
    const RunCost cost(clock_);
    clock_.advance(1h);
    const pid_t child = ::fork();
    if (child == 0) {
      use_processor(50ms);
      ::_exit(0);
    }
    CPPUNIT_ASSERT(child > 0 && ::waitpid(child, nullptr, 0) == child);
    CPPUNIT_ASSERT(cost.so_far() >= 45ms);  // the kernel rounds
  }

  void the_elapsed_time_is_the_limit() {
    const RunCost cost(clock_);
    use_processor(2ms);
    CPPUNIT_ASSERT(cost.so_far() == 0ms);
    clock_.advance(1ms);
    CPPUNIT_ASSERT(cost.so_far() == 1ms);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RunCostTest);

}  // namespace run_cost_test
}  // namespace sluice::sync
