// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// BEH 4 and case 105, with a fake clock.
#include "core/sync/bounded_runner.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cstdint>

#include "test/unit/sync/fake_clock.hpp"

namespace sluice::sync {
namespace bounded_runner_test {

using namespace std::chrono_literals;

class BoundedRunnerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(BoundedRunnerTest);
  CPPUNIT_TEST(nothing_runs_before_the_first_request);
  CPPUNIT_TEST(first_request_runs_at_once);
  CPPUNIT_TEST(first_request_is_due_on_a_running_clock);
  CPPUNIT_TEST(minimum_counts_from_the_end_of_the_run);
  CPPUNIT_TEST(requests_while_one_waits_are_merged);
  CPPUNIT_TEST(request_during_a_run_is_kept);
  CPPUNIT_TEST(idle_run_after_the_maximum);
  CPPUNIT_TEST(failure_retries_and_success_cancels);
  CPPUNIT_TEST(request_advances_a_retry_up_to_the_minimum);
  CPPUNIT_TEST(retry_soon_has_a_minimum_delay);
  CPPUNIT_TEST(request_at_once_ignores_the_minimum);
  CPPUNIT_TEST(new_intervals_count_from_the_last_run);
  CPPUNIT_TEST(one_early_run_per_minimum_interval);
  CPPUNIT_TEST(early_run_without_changes_does_not_count);
  CPPUNIT_TEST(no_early_run_after_a_failure);
  CPPUNIT_TEST(early_request_after_the_minimum_is_a_normal_run);
  CPPUNIT_TEST_SUITE_END();

  test::FakeClock clock_;
  BoundedRunner runner_{{1s, 30s, 1h}, clock_};

  void run(RunOutcome outcome = RunOutcome::done, lib::Clock::Duration duration = 0s) {
    CPPUNIT_ASSERT(runner_.due());
    runner_.started();
    clock_.advance(duration);
    runner_.finished(outcome);
  }

  void nothing_runs_before_the_first_request() {
    clock_.advance(24h);
    CPPUNIT_ASSERT(!runner_.due());
  }

  void first_request_runs_at_once() {
    runner_.request();
    CPPUNIT_ASSERT(runner_.due());
    CPPUNIT_ASSERT(runner_.requested());
  }

  // Independent of the evaluation order in due().
  void first_request_is_due_on_a_running_clock() {
    class RunningClock final : public lib::Clock {
     public:
      Time now() const override { return Time(++now_ * 1ns); }

     private:
      mutable std::int64_t now_ = 0;
    };
    const RunningClock clock;
    BoundedRunner runner({1s, 30s, 1h}, clock);
    runner.request();
    CPPUNIT_ASSERT(runner.due());
  }

  void minimum_counts_from_the_end_of_the_run() {
    runner_.request();
    run(RunOutcome::done, 5s);
    runner_.request();
    CPPUNIT_ASSERT(!runner_.due());
    clock_.advance(999ms);
    CPPUNIT_ASSERT(!runner_.due());
    clock_.advance(1ms);
    CPPUNIT_ASSERT(runner_.due());
  }

  void requests_while_one_waits_are_merged() {
    runner_.request();
    run();
    for (int i = 0; i < 10; ++i) runner_.request();
    clock_.advance(1s);
    run();
    clock_.advance(10s);
    CPPUNIT_ASSERT(!runner_.due());
  }

  void request_during_a_run_is_kept() {
    runner_.request();
    runner_.started();
    runner_.request();
    runner_.finished(RunOutcome::done);
    clock_.advance(1s);
    CPPUNIT_ASSERT(runner_.due());
  }

  void idle_run_after_the_maximum() {
    runner_.request();
    run();
    clock_.advance(1h - 1ms);
    CPPUNIT_ASSERT(!runner_.due());
    clock_.advance(1ms);
    CPPUNIT_ASSERT(runner_.due());
    CPPUNIT_ASSERT(!runner_.requested());
  }

  void failure_retries_and_success_cancels() {
    runner_.request();
    run(RunOutcome::failed);
    clock_.advance(29s);
    CPPUNIT_ASSERT(!runner_.due());
    clock_.advance(1s);
    run(RunOutcome::done);
    clock_.advance(30s);
    CPPUNIT_ASSERT(!runner_.due());
  }

  void request_advances_a_retry_up_to_the_minimum() {
    runner_.request();
    run(RunOutcome::failed);
    runner_.request();
    CPPUNIT_ASSERT(!runner_.due());
    clock_.advance(1s);
    CPPUNIT_ASSERT(runner_.due());
  }

  void retry_soon_has_a_minimum_delay() {
    BoundedRunner eager({0s, 30s, 1h}, clock_);
    eager.request();
    eager.started();
    eager.finished(RunOutcome::retry_soon);
    clock_.advance(499ms);
    CPPUNIT_ASSERT(!eager.due());
    clock_.advance(1ms);
    CPPUNIT_ASSERT(eager.due());
  }

  void request_at_once_ignores_the_minimum() {
    runner_.request();
    run(RunOutcome::failed);
    runner_.request_at_once();
    CPPUNIT_ASSERT(runner_.due() && runner_.requested());
    run();
    CPPUNIT_ASSERT(!runner_.due());
    clock_.advance(30s);
    CPPUNIT_ASSERT(!runner_.due());  // the retry was cancelled
  }

  void one_early_run_per_minimum_interval() {
    runner_.request();
    run();
    clock_.advance(200ms);
    runner_.request();
    CPPUNIT_ASSERT(!runner_.due());
    runner_.request_early();
    run(RunOutcome::done, 100ms);
    CPPUNIT_ASSERT(runner_.runs_early());
    clock_.advance(600ms);
    runner_.request_early();
    CPPUNIT_ASSERT(!runner_.due());  // 600 ms after an early run
    clock_.advance(100ms);
    run();  // the early run did not delay this one
    CPPUNIT_ASSERT(!runner_.runs_early());
    clock_.advance(300ms);
    runner_.request_early();
    run();  // one second after the last early run
    CPPUNIT_ASSERT(runner_.runs_early());
    runner_.request_early();
    CPPUNIT_ASSERT(!runner_.due());
  }

  void early_run_without_changes_does_not_count() {
    runner_.request();
    run();
    runner_.request_early();
    run(RunOutcome::nothing);
    runner_.request_early();
    run();
    runner_.request_early();
    CPPUNIT_ASSERT(!runner_.due());
  }

  void no_early_run_after_a_failure() {
    runner_.request();
    run(RunOutcome::failed);
    runner_.request_early();
    CPPUNIT_ASSERT(!runner_.due());
    clock_.advance(1s);
    CPPUNIT_ASSERT(runner_.due());
  }

  void early_request_after_the_minimum_is_a_normal_run() {
    runner_.request_early();
    run();
    clock_.advance(1s);
    runner_.request_early();
    run();
    runner_.request_early();
    run();  // no earlier run was early
  }

  void new_intervals_count_from_the_last_run() {
    runner_.request();
    run(RunOutcome::failed);
    clock_.advance(5s);
    runner_.set_intervals({1s, 10s, 1h});
    CPPUNIT_ASSERT(!runner_.due());
    clock_.advance(5s);
    run();
    clock_.advance(20s);
    runner_.set_intervals({1s, 10s, 20s});
    run();
    runner_.set_intervals({7s, 10s, 20s});
    runner_.request();
    clock_.advance(6s);
    CPPUNIT_ASSERT(!runner_.due());
    clock_.advance(1s);
    CPPUNIT_ASSERT(runner_.due());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(BoundedRunnerTest);

}  // namespace bounded_runner_test
}  // namespace sluice::sync
