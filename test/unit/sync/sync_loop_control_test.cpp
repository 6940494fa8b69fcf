// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What others ask of the apply thread: calls of the backend, and to be held while another one writes.
#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <utility>

#include "test/unit/patience.hpp"
#include "test/unit/sync/sync_rig.hpp"

namespace sluice::sync {
namespace sync_loop_control_test {

class SyncLoopControlTest : public SyncRig {
  CPPUNIT_TEST_SUITE(SyncLoopControlTest);
  CPPUNIT_TEST(a_call_reaches_the_backend_between_two_runs);
  CPPUNIT_TEST(calls_of_a_loop_that_ends_are_dropped);
  CPPUNIT_TEST(while_held_nothing_is_applied_or_looked_at);
  CPPUNIT_TEST(what_was_requested_while_held_is_pending);
  CPPUNIT_TEST(resuming_sends_everything_at_once);
  CPPUNIT_TEST(a_loop_may_begin_held);
  CPPUNIT_TEST(apply_full_reports_as_any_run_does);
  CPPUNIT_TEST(apply_full_that_fails_while_held_is_not_repeated);
  CPPUNIT_TEST(apply_full_that_fails_is_repeated_where_nobody_holds);
  CPPUNIT_TEST(apply_full_without_a_cluster_is_unavailable);
  CPPUNIT_TEST(what_is_asked_for_is_done_in_order);
  CPPUNIT_TEST(questions_are_answered_while_held);
  CPPUNIT_TEST(intervals_change_while_it_runs);
  CPPUNIT_TEST_SUITE_END();

  void a_call_reaches_the_backend_between_two_runs() {
    CPPUNIT_ASSERT(start().ok());
    std::thread::id in_apply;
    script_.during_apply = [&] { in_apply = std::this_thread::get_id(); };
    loop_->request();
    expect("full 1");
    const auto [name, thread] = within(loop_->call(
        [](plugin::BackendHandle& backend) { return std::pair(backend.name(), std::this_thread::get_id()); }));
    CPPUNIT_ASSERT_EQUAL(std::string("scripted (IPv4)"), name);
    CPPUNIT_ASSERT(thread == in_apply);
    CPPUNIT_ASSERT(within(loop_->call([](plugin::BackendHandle& backend) { return backend.retire({}, 0s); })).ok());
    CPPUNIT_ASSERT_THROW(
        within(loop_->call([](plugin::BackendHandle&) -> int { throw std::runtime_error("defect"); })),
        std::runtime_error);
    settle();
    CPPUNIT_ASSERT(script_.calls.empty());
  }

  void calls_of_a_loop_that_ends_are_dropped() {
    std::promise<void> applying, go_on;
    script_.during_apply = [&] {
      applying.set_value();
      go_on.get_future().wait();
    };
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    applying.get_future().wait();
    std::atomic<bool> called{false};
    auto call = loop_->call([&](plugin::BackendHandle&) { called = true; });
    auto held = loop_->hold();
    auto applied = loop_->apply_full();
    auto stopping = std::async(std::launch::async, [&] { loop_->stop(); });
    // The loop is closed once it drops a call at once: while it applies, it answers no other.
    const bool closed = test::wait_until([&] {
      return loop_->call([](plugin::BackendHandle&) {}).wait_for(0s) == std::future_status::ready;
    });
    go_on.set_value();
    stopping.get();
    CPPUNIT_ASSERT(closed);
    CPPUNIT_ASSERT(broken(std::move(call)));
    CPPUNIT_ASSERT(broken(std::move(held)));
    CPPUNIT_ASSERT(broken(std::move(applied)));
    CPPUNIT_ASSERT(!called);
    CPPUNIT_ASSERT(broken(loop_->call([](plugin::BackendHandle&) {})));
    CPPUNIT_ASSERT(broken(loop_->hold()));
    // Nor does anybody wait for a loop whose start failed.
    script_.probe_answer = abi::Code::kUnsupported;
    script_.during_apply = nullptr;
    CPPUNIT_ASSERT(!start().ok());
    CPPUNIT_ASSERT(broken(loop_->apply_full()));
  }

  void while_held_nothing_is_applied_or_looked_at() {
    options_.verify_every = 1ms;
    options_.intervals.max = 1ms;
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    within(loop_->hold());
    {
      const std::lock_guard lock(script_.mutex);
      script_.calls.clear();
    }
    loop_->request();
    loop_->request_full("somebody has changed the table");
    script_.host->request_resync({"flushed", 7});
    script_.host->report_unhealthy({"bad", 3});
    std::this_thread::sleep_for(30ms);  // fixed time: nothing is applied or verified
    settle();
    CPPUNIT_ASSERT(script_.calls.empty());
    CPPUNIT_ASSERT(loop_->figures().unwell);
    loop_->resume();
    CPPUNIT_ASSERT(script_.next_call().starts_with("full "));
    for (std::string call; call != "verify";) call = script_.next_call();  // as before
  }

  void what_was_requested_while_held_is_pending() {
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    within(loop_->hold());
    settle();
    CPPUNIT_ASSERT(!loop_->freshness().pending_since);
    loop_->request();
    const auto since = loop_->freshness().pending_since;
    CPPUNIT_ASSERT(since);
    settle();
    CPPUNIT_ASSERT(loop_->freshness().pending_since == since);
    CPPUNIT_ASSERT(within(loop_->apply_full()).ok());
    CPPUNIT_ASSERT(!loop_->freshness().pending_since);
  }

  void resuming_sends_everything_at_once() {
    options_.intervals.min = 1h;
    options_.intervals.max = 2h;
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    loop_->resume();  // nobody holds it
    settle();
    CPPUNIT_ASSERT(script_.calls.empty());
    within(loop_->hold());
    loop_->resume();
    expect("full 2");  // without a request, and long before the minimum interval
    settle();
    CPPUNIT_ASSERT(script_.calls.empty());
    CPPUNIT_ASSERT(!loop_->freshness().pending_since);
  }

  void a_loop_may_begin_held() {
    options_.held = true;
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    settle();
    CPPUNIT_ASSERT(script_.calls.empty());
    CPPUNIT_ASSERT(within(loop_->apply_full()).ok());
    expect("full 1");
    CPPUNIT_ASSERT(loop_->status().synced);
    loop_->request();
    settle();
    CPPUNIT_ASSERT(script_.calls.empty());
    loop_->resume();
    expect("full 2");
    loop_->request();
    expect("delta 2-3");
  }

  void apply_full_reports_as_any_run_does() {
    CPPUNIT_ASSERT(start().ok());
    triggers_ = 1;
    CPPUNIT_ASSERT(within(loop_->apply_full()).ok());
    CPPUNIT_ASSERT(within(loop_->apply_full()).ok());
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), claims_.size());
    CPPUNIT_ASSERT(applied_ == std::vector<std::uint64_t>({1, 2}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), reports_.size());
    CPPUNIT_ASSERT(reports_[0].full && reports_[0].ok && reports_[0].trigger_times == TriggerTimes{kTrigger});
    CPPUNIT_ASSERT(reports_[1].trigger_times.empty());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), loop_->status().full_syncs);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), loop_->status().generation);
  }

  void apply_full_that_fails_while_held_is_not_repeated() {
    options_.held = true;
    options_.intervals = {0s, 0s, 0s};
    options_.verify_every = 0s;
    script_.apply_answers = {abi::Code::kRetry};
    CPPUNIT_ASSERT(start().ok());
    const base::Status status = within(loop_->apply_full());
    CPPUNIT_ASSERT(status.code() == base::StatusCode::unavailable);
    CPPUNIT_ASSERT_EQUAL(std::string("backend scripted (IPv4): apply: scripted"), status.message());
    expect("full 1");
    std::this_thread::sleep_for(20ms);  // fixed time: it is not repeated
    settle();
    CPPUNIT_ASSERT(script_.calls.empty());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), loop_->status().failures);
    CPPUNIT_ASSERT(!loop_->status().synced);
    CPPUNIT_ASSERT(loop_->freshness().pending_since);
    loop_->stop();
    CPPUNIT_ASSERT(claims_.empty() && applied_.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), reports_.size());
    CPPUNIT_ASSERT(!reports_[0].ok);
  }

  void apply_full_that_fails_is_repeated_where_nobody_holds() {
    options_.intervals.retry = 1ms;
    script_.apply_answers = {abi::Code::kKernel};
    CPPUNIT_ASSERT(start().ok());
    CPPUNIT_ASSERT(within(loop_->apply_full()).code() == base::StatusCode::kernel);
    expect("full 1");
    expect("full 2");
  }

  void apply_full_without_a_cluster_is_unavailable() {
    not_listed_ = true;
    CPPUNIT_ASSERT(start().ok());
    CPPUNIT_ASSERT(within(loop_->apply_full()).code() == base::StatusCode::unavailable);
    CPPUNIT_ASSERT(script_.calls.empty());
    not_listed_ = false;
    CPPUNIT_ASSERT(within(loop_->apply_full()).ok());
    expect("full 1");
  }

  void what_is_asked_for_is_done_in_order() {
    CPPUNIT_ASSERT(start().ok());
    auto held = loop_->hold();
    loop_->request();
    auto before = loop_->call([this](plugin::BackendHandle&) { return generation_.load(); });
    auto applied = loop_->apply_full();
    auto after = loop_->call([this](plugin::BackendHandle&) { return generation_.load(); });
    loop_->resume();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), within(std::move(before)));
    CPPUNIT_ASSERT(within(std::move(applied)).ok());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), within(std::move(after)));
    within(std::move(held));
    expect("full 1");
    expect("full 2");
  }

  void questions_are_answered_while_held() {
    options_.held = true;
    CPPUNIT_ASSERT(start().ok());
    std::promise<plugin::InspectionOutcome> answered;
    loop_->inspect({"a", [] { return true; }, [&](plugin::InspectionOutcome seen) { answered.set_value(seen); }});
    CPPUNIT_ASSERT(within(answered.get_future()).ok());
    expect("services a");
  }

  void intervals_change_while_it_runs() {
    options_.intervals.max = 4h;
    options_.verify_every = 2h;
    CPPUNIT_ASSERT(start().ok());
    loop_->set_intervals(options_.intervals, 1h);  // nothing is waited for yet
    loop_->request();
    expect("full 1");
    loop_->set_intervals(options_.intervals, 1ms);
    expect("verify");
    loop_->set_intervals({0s, 1h, 1ms}, 1h);
    while (script_.next_call() != "full 2") continue;
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(SyncLoopControlTest);

}  // namespace sync_loop_control_test
}  // namespace sluice::sync
