// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Control of the apply thread by other threads: calls of the backend, and hold() while another backend writes.
#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <utility>

#include "test/unit/patience.hpp"
#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/sync/sync_rig.hpp"

namespace sluice::sync {
namespace sync_loop_control_test {

class SyncLoopControlTest : public SyncRig {
  CPPUNIT_TEST_SUITE(SyncLoopControlTest);
  CPPUNIT_TEST(call_runs_on_the_apply_thread);
  CPPUNIT_TEST(stop_drops_pending_calls);
  CPPUNIT_TEST(apply_has_a_deadline_and_is_not_cancelled);
  CPPUNIT_TEST(stop_cancels_the_apply_in_progress);
  CPPUNIT_TEST(hold_cancels_the_apply_in_progress_and_no_later_one);
  CPPUNIT_TEST(failure_of_a_cancelled_apply_is_logged);
  CPPUNIT_TEST(hold_suspends_apply_and_verify);
  CPPUNIT_TEST(request_while_held_stays_pending);
  CPPUNIT_TEST(resume_applies_a_full_transaction_at_once);
  CPPUNIT_TEST(loop_can_start_held);
  CPPUNIT_TEST(apply_full_reports_like_other_runs);
  CPPUNIT_TEST(failed_apply_full_while_held_is_not_retried);
  CPPUNIT_TEST(failed_apply_full_is_retried_unless_held);
  CPPUNIT_TEST(apply_full_without_a_cluster_is_unavailable);
  CPPUNIT_TEST(messages_are_handled_in_order);
  CPPUNIT_TEST(inspection_works_while_held);
  CPPUNIT_TEST(intervals_change_at_runtime);
  CPPUNIT_TEST_SUITE_END();

  void call_runs_on_the_apply_thread() {
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

  void stop_drops_pending_calls() {
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
    // A closed loop drops a call at once. An open one cannot answer while it applies.
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
    // Callers do not wait for a loop whose start failed, either.
    script_.probe_answer = abi::Code::kUnsupported;
    script_.during_apply = nullptr;
    CPPUNIT_ASSERT(!start().ok());
    CPPUNIT_ASSERT(broken(loop_->apply_full()));
  }

  // Each apply waits until it is cancelled.
  void wait_in_apply(std::promise<void>& applying) {
    script_.during_apply = [this, &applying] {
      applying.set_value();
      was_cancelled_ = test::wait_until([this] { return is_cancelled(); });
    };
  }
  bool was_cancelled_ = false;  // apply thread
  bool is_cancelled() const {
    return __atomic_load_n(script_.applying->cancelled, __ATOMIC_ACQUIRE) != 0;
  }

  void apply_has_a_deadline_and_is_not_cancelled() {
    CPPUNIT_ASSERT(start().ok());
    const std::uint64_t before = script_.host->now();
    std::uint64_t deadline = 0;
    bool cancelled = true;
    script_.during_apply = [&] {
      deadline = script_.applying->deadline;
      cancelled = is_cancelled();
    };
    CPPUNIT_ASSERT(within(loop_->apply_full()).ok());
    const std::uint64_t minute = 60'000'000'000;
    CPPUNIT_ASSERT(deadline >= before + minute && deadline <= script_.host->now() + minute);
    CPPUNIT_ASSERT(!cancelled);
  }

  void stop_cancels_the_apply_in_progress() {
    std::promise<void> applying;
    wait_in_apply(applying);
    script_.apply_answers = {abi::Code::kRetry};
    const test::CapturedLog log;
    CPPUNIT_ASSERT(start().ok());
    triggers_ = 1;
    loop_->request();
    applying.get_future().wait();
    loop_->stop();
    CPPUNIT_ASSERT(was_cancelled_);
    const LoopStatus status = loop_->status();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), status.failures);
    CPPUNIT_ASSERT_EQUAL(std::string(), status.last_error);
    CPPUNIT_ASSERT(!status.synced && status.pending_since);
    CPPUNIT_ASSERT_MESSAGE("not reported to metrics", reports_.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("begin end"), steps_.at(0) + " " + steps_.at(1));
    const std::string text = log.text();
    CPPUNIT_ASSERT_MESSAGE(text, text.find("apply cancelled after") != std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(text, text.find("ERROR") == std::string::npos && text.find("WARN") == std::string::npos);
  }

  void hold_cancels_the_apply_in_progress_and_no_later_one() {
    std::promise<void> applying;
    wait_in_apply(applying);
    script_.apply_answers = {abi::Code::kRetry};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    applying.get_future().wait();
    within(loop_->hold());
    expect("full 1");
    CPPUNIT_ASSERT(was_cancelled_);
    bool cancelled = true;
    script_.during_apply = [&] { cancelled = is_cancelled(); };
    CPPUNIT_ASSERT(within(loop_->apply_full()).ok());
    expect("full 2");
    CPPUNIT_ASSERT(!cancelled);
    loop_->resume();
    expect("full 3");
    settle();
    CPPUNIT_ASSERT(!cancelled && loop_->status().synced);
  }

  void failure_of_a_cancelled_apply_is_logged() {
    std::promise<void> applying;
    wait_in_apply(applying);
    script_.apply_answers = {abi::Code::kKernel};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    applying.get_future().wait();
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), loop_->status().failures);
  }

  void hold_suspends_apply_and_verify() {
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
    loop_->request_full("another process changed the table");
    script_.host->request_resync({"flushed", 7});
    script_.host->report_unhealthy({"bad", 3});
    std::this_thread::sleep_for(30ms);  // fixed time: nothing is applied or verified
    settle();
    CPPUNIT_ASSERT(script_.calls.empty());
    CPPUNIT_ASSERT(loop_->statistics().unwell);
    loop_->resume();
    CPPUNIT_ASSERT(script_.next_call().starts_with("full "));
    for (std::string call; call != "verify";) call = script_.next_call();  // verification continues
  }

  void request_while_held_stays_pending() {
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

  void resume_applies_a_full_transaction_at_once() {
    options_.intervals.min = 1h;
    options_.intervals.max = 2h;
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    loop_->resume();  // no effect: the loop is not held
    settle();
    CPPUNIT_ASSERT(script_.calls.empty());
    within(loop_->hold());
    loop_->resume();
    expect("full 2");  // without a request, and long before the minimum interval
    settle();
    CPPUNIT_ASSERT(script_.calls.empty());
    CPPUNIT_ASSERT(!loop_->freshness().pending_since);
  }

  void loop_can_start_held() {
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

  void apply_full_reports_like_other_runs() {
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

  void failed_apply_full_while_held_is_not_retried() {
    options_.held = true;
    options_.intervals = {0s, 0s, 0s};
    options_.verify_every = 0s;
    script_.apply_answers = {abi::Code::kRetry};
    CPPUNIT_ASSERT(start().ok());
    const lib::Status status = within(loop_->apply_full());
    CPPUNIT_ASSERT(status.code() == lib::StatusCode::unavailable);
    CPPUNIT_ASSERT_EQUAL(std::string("backend scripted (IPv4): apply: scripted"), status.message());
    expect("full 1");
    std::this_thread::sleep_for(20ms);  // fixed time: it is not retried
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

  void failed_apply_full_is_retried_unless_held() {
    options_.intervals.retry = 1ms;
    script_.apply_answers = {abi::Code::kKernel};
    CPPUNIT_ASSERT(start().ok());
    CPPUNIT_ASSERT(within(loop_->apply_full()).code() == lib::StatusCode::kernel);
    expect("full 1");
    expect("full 2");
  }

  void apply_full_without_a_cluster_is_unavailable() {
    not_listed_ = true;
    CPPUNIT_ASSERT(start().ok());
    CPPUNIT_ASSERT(within(loop_->apply_full()).code() == lib::StatusCode::unavailable);
    CPPUNIT_ASSERT(script_.calls.empty());
    not_listed_ = false;
    CPPUNIT_ASSERT(within(loop_->apply_full()).ok());
    expect("full 1");
  }

  void messages_are_handled_in_order() {
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

  void inspection_works_while_held() {
    options_.held = true;
    CPPUNIT_ASSERT(start().ok());
    std::promise<plugin::InspectionOutcome> answered;
    loop_->inspect({{"a"}, [] { return true; }, [&](plugin::InspectionOutcome result) { answered.set_value(result); }});
    CPPUNIT_ASSERT(within(answered.get_future()).ok());
    expect("services a");
  }

  void intervals_change_at_runtime() {
    options_.intervals.max = 4h;
    options_.verify_every = 2h;
    CPPUNIT_ASSERT(start().ok());
    loop_->set_intervals(options_.intervals, 1h);  // no interval has started yet
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
