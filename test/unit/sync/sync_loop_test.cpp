// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tests when the apply thread sends transactions, and how it handles results.
#include "core/sync/sync_loop.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <ctime>

#include "sluice/abi/relay.hpp"
#include "sluice/sdk/views.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/sync/sync_rig.hpp"

namespace sluice::sync {
namespace sync_loop_test {

class SyncLoopTest : public SyncRig {
  CPPUNIT_TEST_SUITE(SyncLoopTest);
  CPPUNIT_TEST(first_transaction_is_full_then_deltas);
  CPPUNIT_TEST(change_during_take_is_not_lost);
  CPPUNIT_TEST(namespace_without_recent_changes_gets_an_early_run);
  CPPUNIT_TEST(failed_delta_is_followed_by_full_transaction);
  CPPUNIT_TEST(need_full_is_followed_by_full_transaction_at_once);
  CPPUNIT_TEST(need_full_for_a_delta_is_not_a_failure);
  CPPUNIT_TEST(empty_delta_never_reaches_the_backend);
  CPPUNIT_TEST(drift_found_by_verify_is_repaired);
  CPPUNIT_TEST(drift_reported_by_the_plugin_counts_as_one_repair);
  CPPUNIT_TEST(verify_after_a_failure_is_not_a_repair);
  CPPUNIT_TEST(verify_interval_is_at_most_20_seconds);
  CPPUNIT_TEST(frequent_changes_do_not_prevent_verify);
  CPPUNIT_TEST(resync_request_of_the_plugin_is_full);
  CPPUNIT_TEST(maximum_interval_causes_full_transaction);
  CPPUNIT_TEST(backend_without_delta_feature_gets_full_transactions);
  CPPUNIT_TEST(failing_probe_fails_the_start);
  CPPUNIT_TEST(claims_are_reported_after_the_first_success);
  CPPUNIT_TEST(failed_claims_are_retried_with_the_next_apply);
  CPPUNIT_TEST(failed_claims_are_retried_without_changes);
  CPPUNIT_TEST(only_applied_transactions_are_reported);
  CPPUNIT_TEST(a_write_is_reported_from_before_the_backend_call_to_after_its_result);
  CPPUNIT_TEST(changes_are_pending_until_the_next_success);
  CPPUNIT_TEST(empty_delta_counts_as_up_to_date);
  CPPUNIT_TEST(every_attempt_is_reported_with_its_durations);
  CPPUNIT_TEST(trigger_times_are_kept_until_success);
  CPPUNIT_TEST(the_wait_of_a_change_is_reported);
  CPPUNIT_TEST(without_a_minimum_the_interval_follows_the_cost_of_runs);
  CPPUNIT_TEST(trigger_times_are_bounded_while_applies_fail);
  CPPUNIT_TEST(no_report_before_the_first_transaction);
  CPPUNIT_TEST(statistics_match_the_status);
  CPPUNIT_TEST(failed_service_port_is_logged_once_per_reason);
  CPPUNIT_TEST(new_reasons_reach_the_observer_once);
  CPPUNIT_TEST(events_name_their_loop);
  CPPUNIT_TEST(served_service_port_is_no_longer_counted);
  CPPUNIT_TEST(failed_service_port_is_retried);
  CPPUNIT_TEST(inspections_run_between_two_syncs);
  CPPUNIT_TEST(cancelled_inspection_is_dropped);
  CPPUNIT_TEST(backend_without_inspection_is_not_inspectable);
  CPPUNIT_TEST_SUITE_END();

  void first_transaction_is_full_then_deltas() {
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

  void change_during_take_is_not_lost() {
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    request_during_take_ = true;
    loop_->request();
    expect("delta 1-2");
    expect("delta 2-3");
  }

  void namespace_without_recent_changes_gets_an_early_run() {
    options_.intervals = {1h, 1h, 2h};
    namespace_ = "shop";
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    settle();
    loop_->request({base::Symbol("shop")});
    settle();
    loop_->request();  // without a namespace
    settle();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), generation_.load());
    namespace_ = "bank";
    loop_->request({base::Symbol("shop"), base::Symbol("bank")});
    expect("delta 1-2");
    settle();
    loop_->request({base::Symbol("other")});  // only one run per hour is early
    settle();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), generation_.load());
    CPPUNIT_ASSERT(loop_->freshness().pending_since);  // deferred by the early run
    loop_->set_intervals({0s, 1h, 2h}, 1h);
    expect("delta 2-3");
    settle();
    CPPUNIT_ASSERT(!loop_->freshness().pending_since);
  }

  void failed_delta_is_followed_by_full_transaction() {  // case 98
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

  void need_full_is_followed_by_full_transaction_at_once() {
    script_.apply_answers = {abi::Code::kNeedFull, abi::Code::kRetry};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    expect("full 2");  // long before the retry interval of an hour
    expect("full 3");  // also after a held lock
  }

  // For example, if all rules depend on a new address of the node.
  void need_full_for_a_delta_is_not_a_failure() {
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
    CPPUNIT_ASSERT_EQUAL_MESSAGE("delta and full transaction are one attempt", std::size_t(2), reports_.size());
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
    no_changes_ = true;
    loop_->request();
    loop_->request_full("next transaction");
    expect("verify");
    expect("full 1");
  }

  void drift_found_by_verify_is_repaired() {  // case 100
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

  void drift_reported_by_the_plugin_counts_as_one_repair() {
    script_.verify_answers = {abi::Code::kNeedFull, abi::Code::kOk};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    loop_->request_full("another process changed the table");
    expect("verify");
    expect("full 2");
    loop_->request_full("retrying a service port");
    expect("verify");
    expect("full 3");
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), loop_->status().repairs);
  }

  void verify_after_a_failure_is_not_a_repair() {
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

  // With the default syncPeriod of 30 s, drift must be found and repaired within 30 s.
  void verify_interval_is_at_most_20_seconds() {
    CPPUNIT_ASSERT(verify_interval(30s) == lib::Clock::Duration(20s));
    CPPUNIT_ASSERT(verify_interval(1h) == lib::Clock::Duration(20s));
    CPPUNIT_ASSERT(verify_interval(5s) == lib::Clock::Duration(5s));
    CPPUNIT_ASSERT(SyncLoop::Options().verify_every == lib::Clock::Duration(20s));
  }

  // A delta must not delay the next verify, or frequent changes would prevent the detection of drift.
  void frequent_changes_do_not_prevent_verify() {
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

  void resync_request_of_the_plugin_is_full() {
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    script_.host->request_resync({"flushed", 7});
    expect("verify");
    expect("full 2");
  }

  void maximum_interval_causes_full_transaction() {
    options_.intervals.max = 1ms;
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    expect("full 2");
  }

  void backend_without_delta_feature_gets_full_transactions() {
    features_ = abi::kFeatureIpv4;
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    loop_->request();
    expect("full 2");
  }

  void failing_probe_fails_the_start() {
    script_.probe_answer = abi::Code::kUnsupported;
    const lib::Status status = start();
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

  // Without claims, the ownership ledger does not have the artifacts of the backend.
  void failed_claims_are_retried_with_the_next_apply() {
    script_.claims_answers = {abi::Code::kRetry, abi::Code::kRetry};
    const test::CapturedLog log;
    CPPUNIT_ASSERT(start().ok());
    for (const char* call : {"full 1", "delta 1-2", "delta 2-3", "delta 3-4"}) {
      loop_->request();
      expect(call);
    }
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(3u, script_.claims_calls);  // no calls after the success
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), claims_.size());
    const std::string output = log.text();
    const std::size_t at = output.find("claims: no list; will retry");
    CPPUNIT_ASSERT_MESSAGE(output, at != std::string::npos && output.find("no list", at + 20) == std::string::npos);
  }

  void failed_claims_are_retried_without_changes() {
    options_.verify_every = 1ms;
    script_.claims_answers = {abi::Code::kRetry};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    for (const char* call : {"full 1", "verify", "verify"}) expect(call);
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(2u, script_.claims_calls);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), claims_.size());
  }

  void only_applied_transactions_are_reported() {
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

  void a_write_is_reported_from_before_the_backend_call_to_after_its_result() {
    script_.apply_answers = {abi::Code::kNeedFull};
    script_.during_apply = [this] { steps_.push_back("apply"); };
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    expect("full 2");
    loop_->stop();
    const std::vector<std::string> expected{"begin", "apply", "end", "begin", "apply", "applied 2", "end"};
    CPPUNIT_ASSERT(steps_ == expected);
  }

  void changes_are_pending_until_the_next_success() {
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

  void empty_delta_counts_as_up_to_date() {
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    no_changes_ = true;
    loop_->request();
    CPPUNIT_ASSERT(test::wait_until([&] { return !loop_->freshness().pending_since; }));
  }

  void every_attempt_is_reported_with_its_durations() {  // case 98, BEH 10.4
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

  // Only of runs that a change caused and that had something to send.
  void the_wait_of_a_change_is_reported() {
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    settle();
    static_cast<void>(within(loop_->apply_full()));
    expect("full 2");
    no_changes_ = true;
    loop_->request();
    CPPUNIT_ASSERT(test::wait_until([&] { return !loop_->freshness().pending_since; }));
    no_changes_ = false;
    within(loop_->hold());
    loop_->request();
    const auto requested = clock_.now();
    CPPUNIT_ASSERT(test::wait_until([&] { return clock_.now() > requested + 5ms; }));
    static_cast<void>(within(loop_->apply_full()));
    expect("full 3");
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(std::size_t(4), reports_.size());
    CPPUNIT_ASSERT(reports_[0].waited_seconds && *reports_[0].waited_seconds >= 0);
    CPPUNIT_ASSERT(!reports_[1].waited_seconds);
    CPPUNIT_ASSERT(!reports_[2].waited_seconds);
    CPPUNIT_ASSERT(reports_[3].waited_seconds && *reports_[3].waited_seconds >= 0.005);
  }

  void without_a_minimum_the_interval_follows_the_cost_of_runs() {
    options_.intervals.min.reset();
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    settle();
    // Each run uses 10 ms of processor time.
    script_.during_apply = [] {
      timespec now{};
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
      const auto begin = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
      while (std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec) < begin + 10ms)
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    };
    for (int run = 2; run < 12; ++run) {
      loop_->request();
      expect("delta " + std::to_string(run - 1) + "-" + std::to_string(run));
    }
    loop_->set_intervals({3s, 1h, 2h}, 1h);
    settle();
    static_cast<void>(within(loop_->apply_full()));
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(std::size_t(12), reports_.size());
    CPPUNIT_ASSERT(reports_[0].interval_seconds < 0.1);
    CPPUNIT_ASSERT(reports_[10].interval_seconds > 0.1);
    CPPUNIT_ASSERT(reports_[10].interval_seconds <= 1);
    CPPUNIT_ASSERT_EQUAL(3.0, reports_[11].interval_seconds);
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
    no_changes_ = true;
    triggers_ = 1;
    loop_->request();
    CPPUNIT_ASSERT(test::wait_until([&] { return triggers_ == 0; }));
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(snapshot::kMostTriggerTimes, reports_[2].trigger_times.size());
  }

  void trigger_times_are_kept_until_success() {  // case 92
    script_.apply_answers = {abi::Code::kOk, abi::Code::kKernel};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    triggers_ = 1;
    loop_->request();
    expect("delta 1-2");
    expect("full 3");
    no_changes_ = true;
    triggers_ = 1;
    loop_->request();
    CPPUNIT_ASSERT(test::wait_until([&] { return triggers_ == 0; }));
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(std::size_t(4), reports_.size());
    CPPUNIT_ASSERT(reports_[0].trigger_times.empty());
    CPPUNIT_ASSERT(reports_[1].trigger_times.empty());
    CPPUNIT_ASSERT(reports_[2].trigger_times == TriggerTimes{kTrigger});
    // An empty delta is a success, too, as in kube-proxy.
    CPPUNIT_ASSERT(reports_[3].ok && !reports_[3].full);
    CPPUNIT_ASSERT(reports_[3].trigger_times == TriggerTimes{kTrigger});
  }

  void no_report_before_the_first_transaction() {
    not_listed_ = true;
    CPPUNIT_ASSERT(start().ok());
    const auto at_start = loop_->statistics().last_queued;
    CPPUNIT_ASSERT(at_start);  // BEH 10.4: also set when the loop begins
    loop_->request();
    CPPUNIT_ASSERT(*loop_->statistics().last_queued >= *at_start);
    loop_->stop();
    CPPUNIT_ASSERT(reports_.empty());
  }

  void statistics_match_the_status() {
    script_.apply_answers = {abi::Code::kKernel};
    CPPUNIT_ASSERT(start().ok());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), loop_->statistics().failures);
    loop_->request();
    expect("full 1");
    script_.host->report_unhealthy({"bad", 3});
    CPPUNIT_ASSERT(test::wait_until([&] { return loop_->statistics().unwell; }));
    loop_->stop();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), loop_->statistics().failures);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(7), loop_->statistics().kernel_writes);
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), loop_->statistics().not_programmed);
  }

  void failed_service_port_is_logged_once_per_reason() {
    script_.not_programmed = {"no room", "no room", "no address", "", "no address"};
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
      if (line.find("ERROR") == std::string::npos || line.find("not programmed") == std::string::npos) continue;
      errors.push_back(line.substr(line.find("shop/cart")));
    }
    const std::vector<std::string> wanted{"shop/cart:http not programmed: no room",
                                          "shop/cart:http not programmed: no address",
                                          "shop/cart:http not programmed: no address"};
    CPPUNIT_ASSERT(wanted == errors);
  }

  void new_reasons_reach_the_observer_once() {
    script_.not_programmed = {"no room", "no room", "no address"};
    CPPUNIT_ASSERT(start().ok());
    for (int i = 1; i <= 3; ++i) CPPUNIT_ASSERT(within(loop_->apply_full()).ok());
    loop_->stop();
    CPPUNIT_ASSERT((not_programmed_ == std::vector<std::string>{"no room", "no address"}));
  }

  void events_name_their_loop() {
    script_.not_programmed = {"no room"};
    script_.during_apply = [this] {
      script_.host->event(abi::Severity::kInfo, {"Ready", 5}, {"now", 3}, nullptr);
      const abi::ServicePortKey key{{"shop", 4}, {"dns", 3}, {"dns", 3}, abi::Protocol::kUdp, {}};
      const std::uint16_t port = 8053;
      void* const relay = script_.host->extension(sdk::view(abi::kHostRelay));
      static_cast<abi::HostRelay*>(relay)->set_relay_ports(&key, sdk::array(&port, 1));
    };
    CPPUNIT_ASSERT(start().ok());
    CPPUNIT_ASSERT(within(loop_->apply_full()).ok());
    loop_->stop();
    CPPUNIT_ASSERT((calls_ == std::vector<std::string>{"create", "probe", ""}));
    CPPUNIT_ASSERT((events_ == std::vector<std::string>{"Ready now", "relays 1"}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), not_programmed_.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), applied_.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), claims_.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), reports_.size());
    CPPUNIT_ASSERT((loops_ == std::vector<std::string>(11, "7 scripted IPv4")));
  }

  void served_service_port_is_no_longer_counted() {
    script_.not_programmed = {"no room", "", "served"};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    loop_->request();
    expect("delta 1-2");
    settle();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), loop_->statistics().not_programmed);
    loop_->request();
    expect("delta 2-3");
    settle();
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), loop_->statistics().not_programmed);
    loop_->stop();
  }

  void failed_service_port_is_retried() {
    options_.retry_not_programmed = 50ms;
    script_.not_programmed = {"no room", "no room", ""};
    CPPUNIT_ASSERT(start().ok());
    loop_->request();
    expect("full 1");
    expect("full 2");
    expect("full 3");
    settle();
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), loop_->statistics().not_programmed);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), loop_->statistics().failures);
    std::this_thread::sleep_for(300ms);  // fixed time: several times the interval, and nothing is retried
    settle();
    loop_->stop();
    CPPUNIT_ASSERT(script_.calls.empty());
  }

  // A run that becomes due comes before the inspection, which does not cause a sync.
  void inspections_run_between_two_syncs() {
    std::promise<plugin::InspectionOutcome> first;
    script_.during_apply = [&] {
      script_.during_apply = nullptr;
      for (const char* name : {"shop/cart", "shop/b"}) {
        const bool is_first = name == std::string("shop/cart");
        loop_->inspect({{name}, [] { return true; },
                        [&first, is_first](plugin::InspectionOutcome result) {
                          if (is_first) first.set_value(std::move(result));
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

  void cancelled_inspection_is_dropped() {
    CPPUNIT_ASSERT(start().ok());
    std::atomic<bool> called{false};
    loop_->inspect({{"a"}, [] { return false; }, [&](plugin::InspectionOutcome) { called = true; }});
    script_.services_answers = {abi::Code::kKernel};
    std::promise<plugin::InspectionOutcome> answered;
    loop_->inspect(
        {{"b"}, [] { return true; }, [&](plugin::InspectionOutcome result) { answered.set_value(std::move(result)); }});
    expect("services b");
    auto result = answered.get_future();
    CPPUNIT_ASSERT(result.wait_for(test::stretched(20s)) == std::future_status::ready);
    const auto outcome = result.get();
    CPPUNIT_ASSERT(!outcome.ok());
    CPPUNIT_ASSERT(outcome.lines.empty());
    CPPUNIT_ASSERT(!called);
  }

  void backend_without_inspection_is_not_inspectable() {
    script_.inspectable = false;
    CPPUNIT_ASSERT(start().ok());
    CPPUNIT_ASSERT(!loop_->inspectable());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(SyncLoopTest);

}  // namespace sync_loop_test
}  // namespace sluice::sync
