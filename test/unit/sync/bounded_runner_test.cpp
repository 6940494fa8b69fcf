// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// BEH 4 and case 105, with a fake clock.
#include "core/sync/bounded_runner.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cstdint>
#include <optional>

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
  CPPUNIT_TEST(adaptive_lone_changes_do_not_wait);
  CPPUNIT_TEST(adaptive_runs_keep_their_share_of_a_processor);
  CPPUNIT_TEST(adaptive_pause_is_at_most_a_second_and_the_retry_interval);
  CPPUNIT_TEST(adaptive_pause_after_a_failure);
  CPPUNIT_TEST(adaptive_early_run_if_the_pause_is_noticeable);
  CPPUNIT_TEST(adaptive_early_runs_count_and_do_not_starve_others);
  CPPUNIT_TEST(new_intervals_may_begin_or_end_the_adaptive_pace);
  CPPUNIT_TEST(run_that_was_not_ready_counts_only_after_another_run);
  CPPUNIT_TEST_SUITE_END();

  test::FakeClock clock_;
  BoundedRunner runner_{{1s, 30s, 1h}, clock_};

  void run(RunOutcome outcome = RunOutcome::done, lib::Clock::Duration duration = 0s) {
    CPPUNIT_ASSERT(runner_.due());
    runner_.started();
    clock_.advance(duration);
    runner_.finished(outcome);
  }

  void run_that_was_not_ready_counts_only_after_another_run() {
    runner_.request();
    run(RunOutcome::not_ready);
    CPPUNIT_ASSERT(runner_.next_run() == lib::Clock::Time::max());
    runner_.request();
    run();
    clock_.advance(2h);
    run(RunOutcome::not_ready);
    CPPUNIT_ASSERT(!runner_.due());
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

  // Without a minimum interval.

  static constexpr RunnerIntervals kAdaptive{std::nullopt, 30s, 1h};
  BoundedRunner adaptive_{kAdaptive, clock_};

  // Waits until a run is due, and returns for how long.
  lib::Clock::Duration wait(BoundedRunner& runner) {
    const auto waited = std::max(runner.next_run() - clock_.now(), lib::Clock::Duration::zero());
    clock_.advance(waited);
    CPPUNIT_ASSERT(runner.due());
    return waited;
  }
  lib::Clock::Duration wait_and_run(BoundedRunner& runner, lib::Clock::Duration cost,
                                    RunOutcome outcome = RunOutcome::done) {
    const auto waited = wait(runner);
    runner.started();
    clock_.advance(cost);
    runner.finished(outcome, cost);
    return waited;
  }
  // Until the pace knows the cost.
  void warm_up(lib::Clock::Duration cost) {
    for (int i = 0; i < 20; ++i) {
      adaptive_.request();
      wait_and_run(adaptive_, cost);
    }
  }

  void adaptive_lone_changes_do_not_wait() {
    for (const auto cost : {lib::Clock::Duration(2s), lib::Clock::Duration(1ms), lib::Clock::Duration(40ms)}) {
      for (int i = 0; i < 30; ++i) {
        for (int pair = 0; pair < 2; ++pair) {
          adaptive_.request();
          CPPUNIT_ASSERT(wait_and_run(adaptive_, cost) == 0s);
        }
        clock_.advance(2s);
      }
    }
  }

  void adaptive_runs_keep_their_share_of_a_processor() {
    for (const auto cost : {lib::Clock::Duration(50us), lib::Clock::Duration(1ms), lib::Clock::Duration(30ms)}) {
      BoundedRunner runner(kAdaptive, clock_);
      const auto begin = clock_.now();
      constexpr int kRuns = 1000;
      for (int i = 0; i < kRuns; ++i) {
        runner.request();
        wait_and_run(runner, cost);
      }
      CPPUNIT_ASSERT(clock_.now() - begin > 19 * kRuns * cost);
      CPPUNIT_ASSERT(clock_.now() - begin >= (kRuns - 2) * 10ms);
    }
  }

  void adaptive_pause_is_at_most_a_second_and_the_retry_interval() {
    warm_up(3s);
    adaptive_.request();
    CPPUNIT_ASSERT(wait_and_run(adaptive_, 3s) == 1s);
    adaptive_.set_intervals({std::nullopt, 200ms, 1h});
    CPPUNIT_ASSERT(adaptive_.interval() == 200ms);
    adaptive_.request();
    CPPUNIT_ASSERT(wait_and_run(adaptive_, 3s) == 200ms);
  }

  // As with kube-proxy's default minimum: a failure that costs nothing is not repeated with each change.
  void adaptive_pause_after_a_failure() {
    for (const auto outcome : {RunOutcome::failed, RunOutcome::retry_soon}) {
      warm_up(1ms);
      clock_.advance(1s);
      adaptive_.request();
      wait_and_run(adaptive_, 0s, outcome);
      adaptive_.request_early();
      CPPUNIT_ASSERT(wait_and_run(adaptive_, 1ms) == 1s);
    }
    clock_.advance(1min);
    CPPUNIT_ASSERT(!adaptive_.due());
  }

  void adaptive_early_run_if_the_pause_is_noticeable() {
    warm_up(20ms);
    adaptive_.request();
    CPPUNIT_ASSERT(!adaptive_.due());
    adaptive_.request_early();
    CPPUNIT_ASSERT(wait_and_run(adaptive_, 20ms) == 0s);
    CPPUNIT_ASSERT(adaptive_.runs_early());
    warm_up(500us);
    adaptive_.request_early();
    CPPUNIT_ASSERT(!adaptive_.due());
    wait_and_run(adaptive_, 500us);
    CPPUNIT_ASSERT(!adaptive_.runs_early());
  }

  void adaptive_early_runs_count_and_do_not_starve_others() {
    warm_up(10ms);
    const auto begin = clock_.now();
    constexpr int kRuns = 1000;
    int early = 0;
    for (int i = 0; i < kRuns; ++i) {
      adaptive_.request_early();
      wait_and_run(adaptive_, 10ms);
      if (adaptive_.runs_early()) ++early;
    }
    CPPUNIT_ASSERT_EQUAL(kRuns / 2, early);
    CPPUNIT_ASSERT(clock_.now() - begin > 19 * kRuns * 10ms);
  }

  void new_intervals_may_begin_or_end_the_adaptive_pace() {
    for (int i = 0; i < 20; ++i) {
      runner_.request();
      wait_and_run(runner_, 5ms);
    }
    CPPUNIT_ASSERT(runner_.interval() == 1s);
    runner_.set_intervals(kAdaptive);
    CPPUNIT_ASSERT(runner_.interval() > 80ms && runner_.interval() <= 100ms);  // the cost is known
    runner_.request();
    CPPUNIT_ASSERT(wait_and_run(runner_, 5ms) <= 100ms);
    runner_.set_intervals({2s, 30s, 1h});
    runner_.request();
    CPPUNIT_ASSERT(wait_and_run(runner_, 5ms) == 2s);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(BoundedRunnerTest);

}  // namespace bounded_runner_test
}  // namespace sluice::sync
