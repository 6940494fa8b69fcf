// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// When the apply thread sends what, and what it makes of the answers.
#include "core/sync/sync_loop.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/patience.hpp"
#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/sync/sync_rig.hpp"

namespace sluice::sync {
namespace sync_loop_test {

class SyncLoopTest : public SyncRig {
  CPPUNIT_TEST_SUITE(SyncLoopTest);
  CPPUNIT_TEST(first_is_full_then_deltas);
  CPPUNIT_TEST(a_change_while_another_is_taken_is_not_lost);
  CPPUNIT_TEST(a_namespace_that_had_no_part_in_the_last_run_does_not_wait);
  CPPUNIT_TEST(failed_delta_is_followed_by_a_full_one);
  CPPUNIT_TEST(need_full_is_answered_at_once);
  CPPUNIT_TEST(a_delta_that_needs_everything_is_no_failure);
  CPPUNIT_TEST(empty_delta_never_reaches_the_backend);
  CPPUNIT_TEST(damage_found_by_verify_is_repaired);
  CPPUNIT_TEST(damage_the_plugin_tells_of_is_a_repair_once);
  CPPUNIT_TEST(a_look_after_a_failure_is_no_repair);
  CPPUNIT_TEST(damage_is_looked_for_often_enough);
  CPPUNIT_TEST(changes_without_end_do_not_keep_verify_away);
  CPPUNIT_TEST(resync_asked_by_the_plugin_is_full);
  CPPUNIT_TEST(maximum_interval_ends_in_a_full_one);
  CPPUNIT_TEST(backend_without_deltas_gets_full_ones);
  CPPUNIT_TEST(failing_probe_fails_the_start);
  CPPUNIT_TEST(claims_are_reported_after_the_first_success);
  CPPUNIT_TEST(claims_that_fail_are_asked_again_by_the_next_apply);
  CPPUNIT_TEST(claims_that_fail_are_asked_again_where_nothing_changes);
  CPPUNIT_TEST(only_what_was_applied_is_passed_on);
  CPPUNIT_TEST(pending_from_the_request_to_the_next_success);
  CPPUNIT_TEST(nothing_to_apply_is_up_to_date);
  CPPUNIT_TEST(every_attempt_is_reported_with_its_parts);
  CPPUNIT_TEST(trigger_times_wait_for_the_success);
  CPPUNIT_TEST(trigger_times_are_bounded_while_applies_fail);
  CPPUNIT_TEST(nothing_is_reported_before_there_is_a_transaction);
  CPPUNIT_TEST(figures_count_what_status_counts);
  CPPUNIT_TEST(who_is_left_out_is_named_once_for_each_reason);
  CPPUNIT_TEST(who_is_served_by_now_is_left_out_no_more);
  CPPUNIT_TEST(who_is_left_out_is_tried_again);
  CPPUNIT_TEST(questions_are_asked_between_two_runs);
  CPPUNIT_TEST(a_question_nobody_wants_answered_is_not_asked);
  CPPUNIT_TEST(not_every_backend_can_be_asked);
  CPPUNIT_TEST_SUITE_END();

  void first_is_full_then_deltas() {
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    loop_->request();
    expect("delta 1-2");
    loop_->stop();
    CPPUNIT_ASSERT(loop_->status().synced);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), loop_->status().generation);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), loop_->status().full_syncs);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), loop_->status().delta_syncs);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(7), loop_->status().last_apply->kernel_writes);
  }

  void a_change_while_another_is_taken_is_not_lost() {
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    changes_while_taken_ = true;
    loop_->request();
    expect("delta 1-2");
    expect("delta 2-3");
  }

  void a_namespace_that_had_no_part_in_the_last_run_does_not_wait() {
    options_.intervals = {1h, 1h, 2h};
    changed_ = "shop";
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    settle();
    loop_->request({base::Symbol("shop")});
    settle();
    loop_->request();  // no namespace is known
    settle();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), generation_.load());
    changed_ = "bank";
    loop_->request({base::Symbol("shop"), base::Symbol("bank")});
    expect("delta 1-2");
    settle();
    loop_->request({base::Symbol("other")});  // one run in an hour is early
    settle();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), generation_.load());
    CPPUNIT_ASSERT(loop_->freshness().pending_since);  // what the early run left
    loop_->set_intervals({0s, 1h, 2h}, 1h);
    expect("delta 2-3");
    settle();
    CPPUNIT_ASSERT(!loop_->freshness().pending_since);
  }

  void failed_delta_is_followed_by_a_full_one() {  // case 98
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    {
      const std::lock_guard lock(script_.mutex);
      script_.apply_answers = {abi::Code::kKernel};
    }
    loop_->request();
    expect("delta 1-2");
    expect("full 3");  // long before the retry interval of an hour
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), loop_->status().failures);
    const LoopStatus status = loop_->status();
    CPPUNIT_ASSERT(status.synced);
    CPPUNIT_ASSERT_EQUAL(std::string(), status.last_error);
    CPPUNIT_ASSERT(status.last_failure && status.last_failure->error.find("scripted") != std::string::npos);
  }

  void need_full_is_answered_at_once() {
    script_.apply_answers = {abi::Code::kNeedFull, abi::Code::kRetry};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    expect("full 2");  // long before the retry interval of an hour
    expect("full 3");  // so is a lock that was held
  }

  // As when an address of the node has come on which all rules depend.
  void a_delta_that_needs_everything_is_no_failure() {
    script_.apply_answers = {abi::Code::kOk, abi::Code::kNeedFull};
    const test::CapturedLog log;
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    triggers_ = 1;
    loop_->request();
    expect("delta 1-2");
    expect("full 3");
    settle();
    const LoopStatus status = loop_->status();
    CPPUNIT_ASSERT(status.synced);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), status.failures);
    CPPUNIT_ASSERT_EQUAL(std::string(), status.last_error);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), status.full_syncs);
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL_MESSAGE("both are one attempt", std::size_t(2), reports_.size());
    CPPUNIT_ASSERT(reports_[1].ok && reports_[1].full);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), reports_[1].trigger_times.size());
    for (const std::string& line : log.lines()) {
      CPPUNIT_ASSERT_MESSAGE(line, line.find("ERROR") == std::string::npos && line.find("WARN") == std::string::npos);
    }
  }

  void empty_delta_never_reaches_the_backend() {
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    nothing_new_ = true;
    loop_->request();
    loop_->request_full("proof that the loop went on");
    expect("verify");
    expect("full 1");
  }

  void damage_found_by_verify_is_repaired() {  // case 100
    options_.verify_every = 1ms;
    script_.verify_answers = {abi::Code::kOk, abi::Code::kNeedFull};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    expect("verify");
    expect("verify");
    expect("full 2");
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), loop_->status().repairs);
  }

  void damage_the_plugin_tells_of_is_a_repair_once() {
    script_.verify_answers = {abi::Code::kNeedFull, abi::Code::kOk};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    loop_->request_full("somebody has changed the table");
    expect("verify");
    expect("full 2");
    loop_->request_full("one that was left out is tried again");
    expect("verify");
    expect("full 3");
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), loop_->status().repairs);
  }

  void a_look_after_a_failure_is_no_repair() {
    options_.verify_every = 1ms;
    script_.apply_answers = {abi::Code::kKernel};
    script_.verify_answers = {abi::Code::kNeedFull};
    const test::CapturedLog log;
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    expect("verify");
    expect("full 2");
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), loop_->status().repairs);
    CPPUNIT_ASSERT(log.text().find("repairing") == std::string::npos);
  }

  // With the default of syncPeriod a look and the repair after it have to fit into 30 s.
  void damage_is_looked_for_often_enough() {
    CPPUNIT_ASSERT(verify_interval(30s) == base::Clock::Duration(20s));
    CPPUNIT_ASSERT(verify_interval(1h) == base::Clock::Duration(20s));
    CPPUNIT_ASSERT(verify_interval(5s) == base::Clock::Duration(5s));
    CPPUNIT_ASSERT(SyncLoop::Options().verify_every == base::Clock::Duration(20s));
  }

  // Each apply used to put the next verify off, so that with a change every moment damage
  // was never looked for.
  void changes_without_end_do_not_keep_verify_away() {
    options_.verify_every = 20ms;
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    bool verified = false;
    for (const auto end = clock_.now() + test::stretched(10s); !verified && clock_.now() < end;) {
      loop_->request();
      verified = script_.next_call() == "verify";
    }
    CPPUNIT_ASSERT(verified);
  }

  void resync_asked_by_the_plugin_is_full() {
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    script_.host->request_resync({"flushed", 7});
    expect("verify");
    expect("full 2");
  }

  void maximum_interval_ends_in_a_full_one() {
    options_.intervals.max = 1ms;
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    expect("full 2");
  }

  void backend_without_deltas_gets_full_ones() {
    features_ = abi::kFeatureIpv4;
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    loop_->request();
    expect("full 2");
  }

  void failing_probe_fails_the_start() {
    script_.probe_answer = abi::Code::kUnsupported;
    const base::Status status = start();
    CPPUNIT_ASSERT(!status.ok());
    CPPUNIT_ASSERT(status.message().find("the kernel lacks something") != std::string::npos);
  }

  void claims_are_reported_after_the_first_success() {
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), claims_.size());
    CPPUNIT_ASSERT_EQUAL(std::string("test/thing"), claims_[0]);
  }

  // Without them the ledger does not say what the backend has on this node.
  void claims_that_fail_are_asked_again_by_the_next_apply() {
    script_.claims_answers = {abi::Code::kRetry, abi::Code::kRetry};
    const test::CapturedLog log;
    CPPUNIT_ASSERT(start().ok());
    for (const char* call : {"full 1", "delta 1-2", "delta 2-3", "delta 3-4"}) {
      loop_->request();
      expect(call);
    }
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(3u, script_.claims_asked);  // and no more once they are known
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), claims_.size());
    const std::string said = log.text();
    const std::size_t at = said.find("claims: no list; it is asked again");
    CPPUNIT_ASSERT_MESSAGE(said, at != std::string::npos && said.find("no list", at + 20) == std::string::npos);
  }

  void claims_that_fail_are_asked_again_where_nothing_changes() {
    options_.verify_every = 1ms;
    script_.claims_answers = {abi::Code::kRetry};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    for (const char* call : {"full 1", "verify", "verify"}) expect(call);
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(2u, script_.claims_asked);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), claims_.size());
  }

  void only_what_was_applied_is_passed_on() {
    script_.apply_answers = {abi::Code::kNeedFull};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    expect("full 2");
    loop_->request();
    expect("delta 2-3");
    loop_->stop();
    CPPUNIT_ASSERT(applied_ == std::vector<std::uint64_t>({2, 3}));
  }

  void pending_from_the_request_to_the_next_success() {
    // The second request may lead to another attempt before the loop stops.
    script_.apply_answers = std::deque<abi::Code>(10, abi::Code::kKernel);
    CPPUNIT_ASSERT(start().ok());
    CPPUNIT_ASSERT(loop_->freshness().last_updated);
    CPPUNIT_ASSERT(!loop_->freshness().pending_since);
    const auto before = clock_.now();
    loop_->request();
    const auto pending_since = loop_->freshness().pending_since;
    CPPUNIT_ASSERT(pending_since && *pending_since >= before);
    expect("full 1");
    loop_->request();
    loop_->stop();
    CPPUNIT_ASSERT(loop_->freshness().pending_since == pending_since);
    CPPUNIT_ASSERT(loop_->status().pending_since == pending_since);

    script_.calls.clear();
    script_.apply_answers = {abi::Code::kNeedFull};
    CPPUNIT_ASSERT(start().ok());
    const auto started = loop_->freshness().last_updated;
    const std::uint64_t before_success = generation_;
    loop_->request();
    expect("full " + std::to_string(before_success + 1));
    expect("full " + std::to_string(before_success + 2));
    loop_->stop();
    CPPUNIT_ASSERT(!loop_->freshness().pending_since);
    CPPUNIT_ASSERT(*loop_->freshness().last_updated >= *started);
  }

  void nothing_to_apply_is_up_to_date() {
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    nothing_new_ = true;
    loop_->request();
    CPPUNIT_ASSERT(test::wait_until([&] { return !loop_->freshness().pending_since; }));
  }

  void every_attempt_is_reported_with_its_parts() {  // case 98, BEH 10.4
    script_.apply_answers = {abi::Code::kOk, abi::Code::kKernel};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    loop_->request();
    expect("delta 1-2");
    expect("full 3");
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), reports_.size());
    CPPUNIT_ASSERT(reports_[0].full && reports_[0].ok);
    CPPUNIT_ASSERT(!reports_[1].full && !reports_[1].ok);
    CPPUNIT_ASSERT(reports_[2].full && reports_[2].ok);
    for (const SyncReport& one : reports_) {
      CPPUNIT_ASSERT(one.select_seconds >= 0 && one.apply_seconds > 0);
      CPPUNIT_ASSERT(one.seconds >= one.select_seconds + one.apply_seconds);
      CPPUNIT_ASSERT_EQUAL(0.5, one.kernel_seconds);
      CPPUNIT_ASSERT(one.at > std::chrono::system_clock::time_point());
    }
  }

  void trigger_times_are_bounded_while_applies_fail() {
    script_.apply_answers = {abi::Code::kOk, abi::Code::kKernel};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    triggers_ = 2 * snapshot::kMostTriggerTimes;
    loop_->request();
    expect("delta 1-2");
    expect("full 3");
    nothing_new_ = true;
    triggers_ = 1;
    loop_->request();
    CPPUNIT_ASSERT(test::wait_until([&] { return triggers_ == 0; }));
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(snapshot::kMostTriggerTimes, reports_[2].trigger_times.size());
  }

  void trigger_times_wait_for_the_success() {  // case 92
    script_.apply_answers = {abi::Code::kOk, abi::Code::kKernel};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    triggers_ = 1;
    loop_->request();
    expect("delta 1-2");
    expect("full 3");
    nothing_new_ = true;
    triggers_ = 1;
    loop_->request();
    CPPUNIT_ASSERT(test::wait_until([&] { return triggers_ == 0; }));
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(std::size_t(4), reports_.size());
    CPPUNIT_ASSERT(reports_[0].trigger_times.empty());
    CPPUNIT_ASSERT(reports_[1].trigger_times.empty());
    CPPUNIT_ASSERT(reports_[2].trigger_times == TriggerTimes{kTrigger});
    // Nothing to be written is a success, too, as kube-proxy sees it.
    CPPUNIT_ASSERT(reports_[3].ok && !reports_[3].full);
    CPPUNIT_ASSERT(reports_[3].trigger_times == TriggerTimes{kTrigger});
  }

  void nothing_is_reported_before_there_is_a_transaction() {
    not_listed_ = true;
    CPPUNIT_ASSERT(start().ok());
    const auto at_start = loop_->figures().last_queued;
    CPPUNIT_ASSERT(at_start);  // BEH 10.4: also set when the loop begins
    loop_->request();
    CPPUNIT_ASSERT(*loop_->figures().last_queued >= *at_start);
    loop_->stop();
    CPPUNIT_ASSERT(reports_.empty());
  }

  void figures_count_what_status_counts() {
    script_.apply_answers = {abi::Code::kKernel};
    CPPUNIT_ASSERT(start().ok());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), loop_->figures().failures);
    loop_->request();
    expect("full 1");
    script_.host->report_unhealthy({"bad", 3});
    CPPUNIT_ASSERT(test::wait_until([&] { return loop_->figures().unwell; }));
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), loop_->figures().failures);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(7), loop_->figures().kernel_writes);
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), loop_->figures().left_out);
  }

  void who_is_left_out_is_named_once_for_each_reason() {
    script_.left_out = {"no room", "no room", "no address", "", "no address"};
    const test::CapturedLog log;
    CPPUNIT_ASSERT(start().ok());
    for (int i = 1; i <= 5; ++i) {
      script_.host->request_resync({"again", 5});
      if (i > 1) expect("verify");
      expect("full " + std::to_string(i));
    }
    loop_->stop();
    std::vector<std::string> errors;
    for (const std::string& line : log.lines()) {
      if (line.find("ERROR") == std::string::npos || line.find("left out") == std::string::npos) continue;
      errors.push_back(line.substr(line.find("shop/cart")));
    }
    const std::vector<std::string> wanted{"shop/cart:http left out: no room", "shop/cart:http left out: no address",
                                          "shop/cart:http left out: no address"};
    CPPUNIT_ASSERT(wanted == errors);
  }

  void who_is_served_by_now_is_left_out_no_more() {
    script_.left_out = {"no room", "", "served"};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    loop_->request();
    expect("delta 1-2");
    settle();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), loop_->figures().left_out);
    loop_->request();
    expect("delta 2-3");
    settle();
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), loop_->figures().left_out);
    loop_->stop();
  }

  void who_is_left_out_is_tried_again() {
    options_.retry_left_out = 50ms;
    script_.left_out = {"no room", "no room", ""};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    expect("full 2");
    expect("full 3");
    settle();
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), loop_->figures().left_out);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), loop_->figures().failures);
    std::this_thread::sleep_for(300ms);  // fixed time: several times the interval, and nothing is retried
    settle();
    loop_->stop();
    CPPUNIT_ASSERT(script_.calls.empty());
  }

  // What has become due meanwhile goes first, and the question asks for no sync.
  void questions_are_asked_between_two_runs() {
    std::promise<plugin::InspectionOutcome> first;
    script_.during_apply = [&] {
      script_.during_apply = nullptr;
      for (const char* name : {"shop/cart", "shop/b"}) {
        const bool is_first = name == std::string("shop/cart");
        loop_->inspect({name, [] { return true; }, [&first, is_first](plugin::InspectionOutcome seen) {
                          if (is_first) first.set_value(std::move(seen));
                        }});
      }
      loop_->request();
    };
    CPPUNIT_ASSERT(start().ok());
    CPPUNIT_ASSERT(loop_->inspectable());
    loop_->request();
    expect("full 1");
    expect("delta 1-2");
    expect("services shop/cart");
    expect("services shop/b");
    auto result = first.get_future();
    CPPUNIT_ASSERT(result.wait_for(test::stretched(20s)) == std::future_status::ready);
    CPPUNIT_ASSERT((result.get().lines == std::vector<std::string>{"one", "two three"}));
    loop_->stop();
    CPPUNIT_ASSERT(script_.calls.empty());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), loop_->status().generation);
  }

  void a_question_nobody_wants_answered_is_not_asked() {
    CPPUNIT_ASSERT(start().ok());
    std::atomic<bool> told{false};
    loop_->inspect({"a", [] { return false; }, [&](plugin::InspectionOutcome) { told = true; }});
    script_.services_answers = {abi::Code::kKernel};
    std::promise<plugin::InspectionOutcome> answered;
    loop_->inspect({"b", [] { return true; }, [&](plugin::InspectionOutcome seen) { answered.set_value(std::move(seen)); }});
    expect("services b");
    auto result = answered.get_future();
    CPPUNIT_ASSERT(result.wait_for(test::stretched(20s)) == std::future_status::ready);
    const auto seen = result.get();
    CPPUNIT_ASSERT(!seen.ok());
    CPPUNIT_ASSERT(seen.lines.empty());
    CPPUNIT_ASSERT(!told);
  }

  void not_every_backend_can_be_asked() {
    script_.inspectable = false;
    CPPUNIT_ASSERT(start().ok());
    CPPUNIT_ASSERT(!loop_->inspectable());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(SyncLoopTest);

}  // namespace sync_loop_test
}  // namespace sluice::sync
