// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/reload/reloader.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <future>
#include <stdexcept>

#include "test/unit/plugin/captured_log.hpp"

namespace sluice::reload {
namespace reloader_test {

using namespace std::chrono_literals;

// Records its calls in a list that the parts share.
class RecordingPart final : public ReloadPart {
 public:
  RecordingPart(std::string name, std::vector<std::string>& calls, const config::SettingsCell& settings)
      : name_(std::move(name)), calls_(calls), settings_(settings) {}

  bool concerned(const config::Settings&, const config::Settings&) const override {
    if (concerned_throws) throw std::runtime_error("cannot compare");
    return is_concerned;
  }
  lib::Status prepare(const config::Settings& from, const config::Settings& to) override {
    calls_.push_back(name_ + " prepare " + from.backend + " " + to.backend);
    if (on_prepare) on_prepare();
    return prepared;
  }
  Committed commit() override {
    calls_.push_back(name_ + " commit with running " + settings_.get()->backend);
    if (throws) throw std::runtime_error("broken");
    return {.done = {name_ + " is done"}};
  }
  void abandon() override { calls_.push_back(name_ + " abandon with running " + settings_.get()->backend); }

  bool is_concerned = true;
  bool throws = false;
  bool concerned_throws = false;
  lib::Status prepared;
  std::function<void()> on_prepare;

 private:
  const std::string name_;
  std::vector<std::string>& calls_;
  const config::SettingsCell& settings_;
};

class ReloaderTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ReloaderTest);
  CPPUNIT_TEST(the_same_configuration_is_unchanged);
  CPPUNIT_TEST(parts_prepare_then_commit);
  CPPUNIT_TEST(a_part_that_cannot_prepare_prevents_all_changes);
  CPPUNIT_TEST(errors_prevent_all_changes_and_are_all_reported);
  CPPUNIT_TEST(a_change_that_cannot_be_live_prevents_all_changes);
  CPPUNIT_TEST(applies_changes_that_concern_no_part);
  CPPUNIT_TEST(a_part_may_be_concerned_without_changed_settings);
  CPPUNIT_TEST(a_part_that_throws_does_not_end_the_thread);
  CPPUNIT_TEST(an_exception_while_reading_fails_the_reload);
  CPPUNIT_TEST(requests_during_a_reload_lead_to_one_more);
  CPPUNIT_TEST(the_status_contains_the_current_step);
  CPPUNIT_TEST(each_result_is_in_the_log_once);
  CPPUNIT_TEST(warnings_do_not_fail_a_reload);
  CPPUNIT_TEST(stop_replies_to_pending_requests);
  CPPUNIT_TEST(requests_before_the_start_are_kept);
  CPPUNIT_TEST(hooks_run_before_and_after_a_reload);
  CPPUNIT_TEST_SUITE_END();

  const lib::SteadyClock clock_{};
  std::unique_ptr<test::CapturedLog> log_;
  std::unique_ptr<config::SettingsCell> settings_;
  std::vector<std::string> calls_;
  std::unique_ptr<RecordingPart> first_;
  std::unique_ptr<RecordingPart> second_;
  std::vector<std::string> hooked_;
  std::function<void(config::Settings&, config::Problems&)> found_;
  std::atomic<int> readings_{0};
  std::unique_ptr<Reloader> reloader_;

 public:
  void setUp() override {
    log_ = std::make_unique<test::CapturedLog>();
    config::Settings settings;
    settings.backend = "old";
    settings_ = std::make_unique<config::SettingsCell>(settings);
    calls_.clear();
    hooked_.clear();
    readings_ = 0;
    first_ = std::make_unique<RecordingPart>("first", calls_, *settings_);
    second_ = std::make_unique<RecordingPart>("second", calls_, *settings_);
    found_ = [](config::Settings&, config::Problems&) {};
    ReloadHooks hooks;
    hooks.begun = [this] { hooked_.push_back("begun after " + std::to_string(readings_)); };
    hooks.ended = [this](const ReloadResult& result) { hooked_.push_back(reload_outcome_name(result.outcome)); };
    reloader_ = std::make_unique<Reloader>(
        *settings_,
        [this](const config::Settings& running, config::Problems& problems) {
          ++readings_;
          config::Settings out = running;
          found_(out, problems);
          return out;
        },
        hooks, clock_);
    reloader_->add("first", *first_);
    reloader_->add("second", *second_);
  }
  void tearDown() override {
    reloader_.reset();
    log_.reset();
  }

 private:
  using Texts = std::vector<std::string>;

  ReloadResult reload(const std::string& trigger = "SIGHUP") {
    std::promise<ReloadResult> out;
    reloader_->request(trigger, [&](const ReloadResult& result) { out.set_value(result); });
    return out.get_future().get();
  }
  void new_backend() {
    found_ = [](config::Settings& settings, config::Problems&) { settings.backend = "new"; };
  }
  std::string running_backend() const { return settings_->get()->backend; }
  int lines_with(const std::string& words) const {
    int out = 0;
    for (const auto& line : log_->lines()) out += line.find(words) != std::string::npos ? 1 : 0;
    return out;
  }

 public:
  void the_same_configuration_is_unchanged() {
    first_->is_concerned = second_->is_concerned = false;
    reloader_->start();
    const auto before = settings_->get();
    const auto result = reload();
    CPPUNIT_ASSERT(result.outcome == ReloadOutcome::unchanged && result.ok());
    CPPUNIT_ASSERT(result.sentences == Texts{"nothing has changed"});
    CPPUNIT_ASSERT(calls_.empty());
    CPPUNIT_ASSERT(settings_->get() == before);
  }

  void parts_prepare_then_commit() {
    new_backend();
    reloader_->start();
    const auto result = reload();
    CPPUNIT_ASSERT(result.outcome == ReloadOutcome::success);
    CPPUNIT_ASSERT(result.sentences == (Texts{"first is done", "second is done"}));
    CPPUNIT_ASSERT(calls_ == (Texts{"first prepare old new", "second prepare old new", "first commit with running new",
                                    "second commit with running new"}));
    CPPUNIT_ASSERT_EQUAL(std::string("SIGHUP"), result.trigger);
    CPPUNIT_ASSERT(result.seconds > 0 && result.at.time_since_epoch().count() > 0);
  }

  void a_part_that_cannot_prepare_prevents_all_changes() {
    new_backend();
    second_->prepared = lib::invalid("second: no such thing");
    reloader_->start();
    const auto result = reload();
    CPPUNIT_ASSERT(result.outcome == ReloadOutcome::failed && !result.ok());
    CPPUNIT_ASSERT(result.sentences == Texts{"second: no such thing"});
    CPPUNIT_ASSERT(calls_ ==
                   (Texts{"first prepare old new", "second prepare old new", "first abandon with running old"}));
    CPPUNIT_ASSERT_EQUAL(std::string("old"), running_backend());
    // The corrected configuration is applied.
    second_->prepared = {};
    CPPUNIT_ASSERT(reload().ok());
    CPPUNIT_ASSERT_EQUAL(std::string("new"), running_backend());
  }

  void errors_prevent_all_changes_and_are_all_reported() {
    found_ = [](config::Settings& settings, config::Problems& problems) {
      settings.backend = "new";
      problems.error("file:1: a", "is wrong");
      problems.warning("file:2: b", "is odd");
      problems.error("file:3: c", "is wrong too");
    };
    reloader_->start();
    const auto result = reload();
    CPPUNIT_ASSERT(result.outcome == ReloadOutcome::failed);
    CPPUNIT_ASSERT(result.sentences == (Texts{"file:1: a: is wrong", "file:3: c: is wrong too"}));
    CPPUNIT_ASSERT(result.warnings == Texts{"file:2: b: is odd"});
    CPPUNIT_ASSERT(calls_.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("old"), running_backend());
  }

  void a_change_that_cannot_be_live_prevents_all_changes() {
    found_ = [](config::Settings& settings, config::Problems&) {
      settings.backend = "new";
      settings.state_dir = "/elsewhere";
    };
    reloader_->start();
    const auto result = reload();
    CPPUNIT_ASSERT(result.outcome == ReloadOutcome::failed);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, result.sentences.size());
    CPPUNIT_ASSERT(result.sentences[0].starts_with("stateDir: "));
    CPPUNIT_ASSERT(calls_.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("old"), running_backend());
  }

  void applies_changes_that_concern_no_part() {
    first_->is_concerned = second_->is_concerned = false;
    found_ = [](config::Settings& settings, config::Problems&) {
      settings.kube_proxy_configuration = "{}";
      settings.sections["other"].yaml = "a: 1";
    };
    reloader_->start();
    const auto result = reload();
    CPPUNIT_ASSERT(result.outcome == ReloadOutcome::success);
    CPPUNIT_ASSERT(result.sentences == Texts{"backends is applied; no running component depends on it"});
    CPPUNIT_ASSERT_EQUAL(std::string("{}"), settings_->get()->kube_proxy_configuration);
  }

  void a_part_may_be_concerned_without_changed_settings() {
    first_->is_concerned = false;
    reloader_->start();
    const auto result = reload();
    CPPUNIT_ASSERT(result.outcome == ReloadOutcome::success);
    CPPUNIT_ASSERT(result.sentences == Texts{"second is done"});
    CPPUNIT_ASSERT(calls_ == (Texts{"second prepare old old", "second commit with running old"}));
  }

  void a_part_that_throws_does_not_end_the_thread() {
    new_backend();
    first_->throws = true;
    reloader_->start();
    const auto partial = reload();
    CPPUNIT_ASSERT(partial.sentences == (Texts{"first: broken", "second is done"}));
    CPPUNIT_ASSERT(partial.outcome == ReloadOutcome::failed && partial.partly_applied);
    first_->on_prepare = [] { throw std::runtime_error("worse"); };
    const auto result = reload();
    CPPUNIT_ASSERT(result.outcome == ReloadOutcome::failed && !result.partly_applied &&
                   result.sentences == Texts{"worse"});
    first_->on_prepare = nullptr;
    second_->concerned_throws = true;
    CPPUNIT_ASSERT(reload().sentences == Texts{"cannot compare"});
  }

  void an_exception_while_reading_fails_the_reload() {
    found_ = [](config::Settings&, config::Problems&) { throw std::runtime_error("out of memory"); };
    reloader_->start();
    const auto result = reload();
    CPPUNIT_ASSERT(result.outcome == ReloadOutcome::failed && result.sentences == Texts{"out of memory"});
  }

  void requests_during_a_reload_lead_to_one_more() {
    new_backend();
    std::promise<void> go_on;
    std::promise<void> began;
    auto gone_on = go_on.get_future().share();
    std::atomic<bool> first_time{true};
    first_->on_prepare = [&] {
      if (!first_time.exchange(false)) return;
      began.set_value();
      gone_on.wait();
    };
    reloader_->start();
    std::promise<ReloadResult> one;
    reloader_->request("one", [&](const ReloadResult& result) { one.set_value(result); });
    began.get_future().wait();
    CPPUNIT_ASSERT_EQUAL(1, readings_.load());
    for (int i = 0; i < 50; ++i) reloader_->request("two");
    std::promise<ReloadResult> three;
    reloader_->request("three", [&](const ReloadResult& result) { three.set_value(result); });
    CPPUNIT_ASSERT_EQUAL(1, readings_.load());
    go_on.set_value();
    CPPUNIT_ASSERT_EQUAL(std::string("one"), one.get_future().get().trigger);
    CPPUNIT_ASSERT_EQUAL(std::string("two, three"), three.get_future().get().trigger);
    reloader_->stop();
    CPPUNIT_ASSERT_EQUAL(2, readings_.load());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, reloader_->status().count);
  }

  void the_status_contains_the_current_step() {
    CPPUNIT_ASSERT(!reloader_->status().last && !reloader_->status().in_progress_since);
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"count":0})"), reload_json(reloader_->status()).dump());
    new_backend();
    ReloadStatus during;
    second_->on_prepare = [&] { during = reloader_->status(); };
    reloader_->start();
    reload("why");
    CPPUNIT_ASSERT(during.in_progress_since.has_value());
    CPPUNIT_ASSERT_EQUAL(std::string("second: preparing"), during.doing);
    CPPUNIT_ASSERT_EQUAL(std::string("why"), during.trigger);
    CPPUNIT_ASSERT_EQUAL(std::string("why"), reload_json(during)["in_progress"]["trigger"].get<std::string>());
    const auto success = reloader_->status();
    CPPUNIT_ASSERT(success.last->ok() && success.last_success == success.last->at && !success.in_progress_since);
    second_->prepared = lib::invalid("no");
    reload();
    const auto failure = reloader_->status();
    CPPUNIT_ASSERT(!failure.last->ok() && failure.last_success == success.last_success);
    const auto json = reload_json(failure);
    CPPUNIT_ASSERT_EQUAL(std::string("failed"), json["last"]["result"].get<std::string>());
    CPPUNIT_ASSERT_EQUAL(std::string("no"), json["last"]["sentences"][0].get<std::string>());
    CPPUNIT_ASSERT(json.contains("last_success") && !json.contains("in_progress"));
  }

  void each_result_is_in_the_log_once() {
    new_backend();
    reloader_->start();
    reload("why");
    CPPUNIT_ASSERT_EQUAL_MESSAGE(log_->text(), 1,
                                 lines_with("INFO sluice.reload reload (why): first is done; second is done"));
    first_->prepared = lib::invalid("first: no");
    reload("again");
    CPPUNIT_ASSERT_EQUAL_MESSAGE(
        log_->text(), 1,
        lines_with("ERROR sluice.reload reload (again) failed; keeping the running configuration: first: no"));
    first_->is_concerned = second_->is_concerned = false;
    reload("last");
    CPPUNIT_ASSERT_EQUAL_MESSAGE(log_->text(), 1, lines_with("INFO sluice.reload reload (last): nothing has changed"));
    CPPUNIT_ASSERT_EQUAL(3, lines_with("reload ("));
  }

  void warnings_do_not_fail_a_reload() {
    first_->is_concerned = second_->is_concerned = false;
    found_ = [](config::Settings&, config::Problems& problems) { problems.warning("file:2: b", "is odd"); };
    reloader_->start();
    const auto result = reload();
    CPPUNIT_ASSERT(result.outcome == ReloadOutcome::unchanged);
    CPPUNIT_ASSERT(result.warnings == Texts{"file:2: b: is odd"});
    CPPUNIT_ASSERT_EQUAL(1, lines_with("WARN sluice.reload reload: file:2: b: is odd"));
  }

  void stop_replies_to_pending_requests() {
    std::promise<ReloadResult> waiting;
    reloader_->request("never", [&](const ReloadResult& result) { waiting.set_value(result); });
    reloader_->stop();
    CPPUNIT_ASSERT(waiting.get_future().get().sentences == Texts{"sluiced is shutting down"});
    ReloadResult late;
    reloader_->request("late", [&](const ReloadResult& result) { late = result; });
    CPPUNIT_ASSERT(!late.ok());
    CPPUNIT_ASSERT_EQUAL(0, readings_.load());
  }

  void requests_before_the_start_are_kept() {
    std::promise<ReloadResult> out;
    reloader_->request("early", [&](const ReloadResult& result) { out.set_value(result); });
    reloader_->start();
    CPPUNIT_ASSERT_EQUAL(std::string("early"), out.get_future().get().trigger);
  }

  void hooks_run_before_and_after_a_reload() {
    new_backend();
    reloader_->start();
    reload();
    first_->prepared = lib::invalid("no");
    reload();
    reloader_->stop();
    CPPUNIT_ASSERT(hooked_ == (Texts{"begun after 0", "success", "begun after 1", "failed"}));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ReloaderTest);

}  // namespace reloader_test
}  // namespace sluice::reload
