// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/source_part.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "lib/sha256.hpp"
#include "test/unit/kube/event_recorder.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::daemon {
namespace source_part_test {

using Texts = std::vector<std::string>;

// Blocks a step of a source switch until it is released.
class Barrier {
 public:
  explicit Barrier(std::string at) : at_(std::move(at)) {}
  void pass(const std::string& step) {
    std::unique_lock lock(mutex_);
    if (step != at_) return;
    reached_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return released_; });
  }
  bool wait_reached() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, test::stretched(std::chrono::seconds(20)), [this] { return reached_; });
  }
  void release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  const std::string at_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  bool released_ = false;
};

class NoTransport final : public kube::Transport {
 public:
  lib::Status send(const kube::Request&, kube::ResponseSink&) override { return lib::unavailable("none"); }
  void stop() override {}
  std::string server() const override { return ""; }
};

class RecordedSource final : public Source {
 public:
  RecordedSource(std::string name, Texts& calls, model::EventSink& sink)
      : name_(std::move(name)), calls_(calls), sink_(sink) {}
  ~RecordedSource() override { calls_.push_back("~" + name_); }

  lib::Status start() override {
    calls_.push_back("start " + name_);
    if (step) step("start " + name_);
    if (!started.ok()) return started;
    model::Node node;
    node.name = name_;
    sink_.deliver(model::Upsert{node});
    return {};
  }
  void stop() override {
    calls_.push_back("stop " + name_);
    if (step) step("stop " + name_);
  }
  std::string detail() const override { return "server " + name_; }
  std::vector<observe::ResourceStatus> status() const override { return {observe::ResourceStatus()}; }
  kube::Transport* transport() override { return &transport_; }
  void set_service_cidrs(bool wanted) override {
    calls_.push_back(name_ + (wanted ? " with" : " without"));
    if (step) step("service CIDRs of " + name_);
  }
  void set_details(const model::WantedDetailsPtr& wanted) override {
    if (wanted) calls_.push_back(name_ + (wanted->endpoints ? " with" : " without") + " details");
  }
  std::vector<std::string> files() const override { return named_files; }

  lib::Status started;
  std::vector<std::string> named_files;
  std::function<void(const std::string&)> step;

 private:
  const std::string name_;
  Texts& calls_;
  model::EventSink& sink_;
  NoTransport transport_;
};

class SourcePartTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SourcePartTest);
  CPPUNIT_TEST(another_master_needs_a_new_source);
  CPPUNIT_TEST(without_a_change_nothing_is_concerned);
  CPPUNIT_TEST(a_changed_kubeconfig_needs_a_new_source);
  CPPUNIT_TEST(a_changed_certificate_is_checked_and_used_by_the_same_source);
  CPPUNIT_TEST(a_source_that_cannot_be_created_keeps_the_old_one);
  CPPUNIT_TEST(a_failed_check_keeps_the_old_one);
  CPPUNIT_TEST(abandon_keeps_the_old_source);
  CPPUNIT_TEST(a_failed_start_is_retried_at_the_next_reload);
  CPPUNIT_TEST(the_next_source_delivers_service_cidrs_too);
  CPPUNIT_TEST(the_next_source_delivers_details_too);
  CPPUNIT_TEST(a_recording_continues_with_the_next_source);
  CPPUNIT_TEST(files_are_those_of_the_running_configuration);
  CPPUNIT_TEST(status_does_not_wait_for_a_source_switch);
  CPPUNIT_TEST_SUITE_END();

  const lib::SteadyClock clock_{};
  std::unique_ptr<test::TemporaryFolder> folder_;
  std::unique_ptr<test::EventRecorder> sink_;
  Texts calls_;
  Texts check_errors_;
  std::vector<std::string> certificates_;
  lib::Status make_result_;
  lib::Status start_result_;
  std::function<void(const std::string&)> step_;
  std::unique_ptr<SourcePart> part_;

 public:
  void setUp() override {
    folder_ = std::make_unique<test::TemporaryFolder>();
    sink_ = std::make_unique<test::EventRecorder>();
    calls_.clear();
    check_errors_.clear();
    certificates_.clear();
    make_result_ = start_result_ = {};
    step_ = nullptr;
    part_ = std::make_unique<SourcePart>(
        SourcePart::Hooks{[this](const config::Settings& settings, bool cidrs, model::EventSink& sink) {
                            using Made = lib::Result<std::unique_ptr<Source>>;
                            if (!make_result_.ok()) return Made(make_result_);
                            calls_.push_back("make " + settings.source.master + (cidrs ? " with" : ""));
                            if (step_) step_("make " + settings.source.master);
                            auto out = std::make_unique<RecordedSource>(settings.source.master, calls_, sink);
                            out->started = start_result_;
                            out->named_files = certificates_;
                            out->step = step_;
                            return Made(std::move(out));
                          },
                          [this](const config::Settings&) { return check_errors_; },
                          [this](kube::Transport* transport) {
                            calls_.push_back(transport == part_->transport() ? "old transport" : "new transport");
                            if (step_) step_("switch the transport");
                          },
                          "1"},
        *sink_, clock_);
  }
  void tearDown() override {
    part_.reset();
    sink_.reset();
    folder_.reset();
  }

 private:
  static config::Settings with(const std::string& master, const std::string& kubeconfig = {}) {
    config::Settings out;
    out.source.kind = config::SourceKind::api;
    out.source.master = master;
    out.source.kubeconfig = kubeconfig;
    return out;
  }
  config::Settings start(config::Settings settings) {
    const auto made = part_->make(settings, false);
    CPPUNIT_ASSERT_MESSAGE(made.message(), made.ok());
    CPPUNIT_ASSERT(part_->start().ok());
    calls_.clear();
    sink_->take();
    return settings;
  }

 public:
  void another_master_needs_a_new_source() {
    const config::Settings a = start(with("a"));
    CPPUNIT_ASSERT_EQUAL(std::string("server a"), part_->status().detail);
    CPPUNIT_ASSERT(part_->concerned(a, with("b")));
    CPPUNIT_ASSERT(part_->prepare(a, with("b")).ok());
    CPPUNIT_ASSERT(calls_ == Texts{"make b"});
    CPPUNIT_ASSERT(part_->commit().done == Texts{"source: switched to server b"});
    CPPUNIT_ASSERT(calls_ == (Texts{"make b", "stop a", "new transport", "b without", "start b", "~a"}));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Node b"), sink_->take_text());
    CPPUNIT_ASSERT_EQUAL(std::string("server b"), part_->status().detail);
    CPPUNIT_ASSERT(part_->status().kind == config::SourceKind::api && part_->status().resources.size() == 1);
    calls_.clear();
    part_->stop();
    CPPUNIT_ASSERT(calls_ == Texts{"stop b"});
  }

  void without_a_change_nothing_is_concerned() {
    certificates_ = {folder_->write("ca", "1")};
    const config::Settings a = start(with("a", folder_->write("k", "1")));
    CPPUNIT_ASSERT(!part_->concerned(a, a));
    config::Settings other = a;
    other.masquerade_all = true;
    CPPUNIT_ASSERT(!part_->concerned(a, other));
  }

  void a_changed_kubeconfig_needs_a_new_source() {
    const config::Settings a = start(with("a", folder_->write("k", "1")));
    folder_->write("k", "2");
    CPPUNIT_ASSERT(part_->concerned(a, a));
    CPPUNIT_ASSERT(part_->prepare(a, a).ok());
    CPPUNIT_ASSERT(part_->commit().done == Texts{"source: switched to server a"});
    CPPUNIT_ASSERT(calls_ == (Texts{"make a", "stop a", "new transport", "a without", "start a", "~a"}));
    CPPUNIT_ASSERT(!part_->concerned(a, a));
  }

  void a_changed_certificate_is_checked_and_used_by_the_same_source() {
    certificates_ = {folder_->write("ca", "1")};
    const config::Settings a = start(with("a", folder_->write("k", "1")));
    folder_->write("ca", "2");
    CPPUNIT_ASSERT(part_->concerned(a, a));
    make_result_ = lib::invalid("ca is broken");
    CPPUNIT_ASSERT_EQUAL(std::string("source: ca is broken"), part_->prepare(a, a).message());
    CPPUNIT_ASSERT(part_->concerned(a, a));
    make_result_ = {};
    CPPUNIT_ASSERT(part_->prepare(a, a).ok());
    CPPUNIT_ASSERT(part_->commit().done == Texts{"source: using changed certificates"});
    CPPUNIT_ASSERT(calls_ == (Texts{"make a", "~a"}));
    CPPUNIT_ASSERT(!part_->concerned(a, a));
    CPPUNIT_ASSERT_EQUAL(std::string("server a"), part_->status().detail);
  }

  void a_source_that_cannot_be_created_keeps_the_old_one() {
    const config::Settings a = start(with("a"));
    make_result_ = lib::invalid("no credentials");
    const auto status = part_->prepare(a, with("b"));
    CPPUNIT_ASSERT_EQUAL(std::string("source: no credentials"), status.message());
    CPPUNIT_ASSERT(calls_.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("server a"), part_->status().detail);
  }

  void a_failed_check_keeps_the_old_one() {
    const config::Settings a = start(with("a"));
    check_errors_ = {"x.yaml is broken", "so is y.yaml"};
    CPPUNIT_ASSERT_EQUAL(std::string("source: x.yaml is broken; so is y.yaml"), part_->prepare(a, with("b")).message());
    CPPUNIT_ASSERT(calls_.empty());
  }

  void abandon_keeps_the_old_source() {
    const config::Settings a = start(with("a"));
    CPPUNIT_ASSERT(part_->prepare(a, with("b")).ok());
    part_->abandon();
    CPPUNIT_ASSERT(calls_ == (Texts{"make b", "~b"}));
    CPPUNIT_ASSERT_EQUAL(std::string("server a"), part_->status().detail);
  }

  void a_failed_start_is_retried_at_the_next_reload() {
    const config::Settings a = start(with("a"));
    start_result_ = lib::invalid("no such folder");
    CPPUNIT_ASSERT(part_->prepare(a, with("b")).ok());
    const auto done = part_->commit();
    CPPUNIT_ASSERT(done.done.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, done.failed.size());
    CPPUNIT_ASSERT(done.failed[0].starts_with("source: no such folder; keeping the known Services without updates"));
    start_result_ = {};
    CPPUNIT_ASSERT(part_->concerned(with("b"), with("b")));
    CPPUNIT_ASSERT(part_->prepare(with("b"), with("b")).ok());
    CPPUNIT_ASSERT(part_->commit().done == Texts{"source: switched to server b"});
    CPPUNIT_ASSERT(!part_->concerned(with("b"), with("b")));
  }

  void the_next_source_delivers_service_cidrs_too() {
    const config::Settings a = start(with("a"));
    part_->set_service_cidrs(true);
    CPPUNIT_ASSERT(calls_ == Texts{"a with"});
    calls_.clear();
    CPPUNIT_ASSERT(part_->prepare(a, with("b")).ok());
    CPPUNIT_ASSERT(calls_ == Texts{"make b with"});
    part_->set_service_cidrs(false);  // between prepare() and commit()
    calls_.clear();
    part_->commit();
    CPPUNIT_ASSERT(calls_ == (Texts{"stop a", "new transport", "b without", "start b", "~a"}));
  }

  void the_next_source_delivers_details_too() {
    const config::Settings a = start(with("a"));
    part_->set_details(std::make_shared<const model::WantedDetails>(model::WantedDetails{.endpoints = true}));
    CPPUNIT_ASSERT(calls_ == Texts{"a with details"});
    CPPUNIT_ASSERT(part_->prepare(a, with("b")).ok());
    calls_.clear();
    part_->commit();
    CPPUNIT_ASSERT(calls_ == (Texts{"stop a", "new transport", "b without", "b with details", "start b", "~a"}));
  }

  void a_recording_continues_with_the_next_source() {
    config::Settings a = with("a");
    a.source.record = folder_->path("recording");
    start(a);
    config::Settings b = a;
    b.source.master = "b";
    CPPUNIT_ASSERT(part_->prepare(a, b).ok());
    part_->commit();
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Node b"), sink_->take_text());
    CPPUNIT_ASSERT(part_->status().recording.has_value());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, part_->status().recording->events);
    part_->stop();
    const std::string text = folder_->read("recording");
    CPPUNIT_ASSERT_MESSAGE(text, text.find("sluiced 1") != std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(text, text.find("\"a\"") != std::string::npos && text.find("\"b\"") != std::string::npos);
    CPPUNIT_ASSERT(!std::filesystem::exists(folder_->path("recording.old")));
  }

  void files_are_those_of_the_running_configuration() {
    const std::string kubeconfig = folder_->write("k", "1");
    certificates_ = {folder_->write("ca", "2"), folder_->path("missing")};
    const config::Settings a = start(with("a", kubeconfig));
    CPPUNIT_ASSERT(part_->files() == (std::vector<reload::WatchedFile>{{folder_->path("ca"), lib::sha256("2")},
                                                                       {kubeconfig, lib::sha256("1")},
                                                                       {folder_->path("missing"), ""}}));
    folder_->write("k", "3");
    make_result_ = lib::invalid("broken");
    CPPUNIT_ASSERT(!part_->prepare(a, a).ok());
    CPPUNIT_ASSERT(part_->files()[1] == (reload::WatchedFile{kubeconfig, lib::sha256("1")}));
  }

  // A step may take as long as the network, a file system, or a sink that is full.
  void status_does_not_wait_for_a_source_switch() {
    for (const char* step :
         {"make b", "stop a", "switch the transport", "service CIDRs of b", "start b", "service CIDRs of a"}) {
      setUp();
      // The source calls it until it is destroyed, after this round.
      const auto barrier = std::make_shared<Barrier>(step);
      step_ = [barrier](const std::string& name) { barrier->pass(name); };
      const config::Settings a = start(with("a"));
      std::thread reload([&] {
        if (std::string(step) == "service CIDRs of a") part_->set_service_cidrs(true);
        if (part_->prepare(a, with("b")).ok()) part_->commit();
      });
      const bool reached = barrier->wait_reached();
      auto asked = std::async(std::launch::async, [&] {
        part_->files();
        return part_->transport() != nullptr && part_->status().detail.starts_with("server ");
      });
      const auto answered = asked.wait_for(test::stretched(std::chrono::seconds(20)));
      barrier->release();
      reload.join();
      CPPUNIT_ASSERT_MESSAGE(std::string(step) + " is not reached", reached);
      CPPUNIT_ASSERT_MESSAGE(std::string("status waits for: ") + step, answered == std::future_status::ready);
      CPPUNIT_ASSERT(asked.get());
      CPPUNIT_ASSERT_EQUAL(std::string("server b"), part_->status().detail);
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(SourcePartTest);

}  // namespace source_part_test
}  // namespace sluice::daemon
