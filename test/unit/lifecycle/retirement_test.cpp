// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Unmapping the library of a retired backend, with a plugin of the zoo. Other tests of the retirement are in
// swapper_test.cpp.
#include "core/lifecycle/retirement.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/plugin/loader.hpp"
#include "test/unit/lifecycle/run_environment.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/plugin/zoo_folder.hpp"

namespace sluice::lifecycle {
namespace retirement_test {

using namespace std::chrono_literals;
using test::wait_until;

class RetirementTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RetirementTest);
  CPPUNIT_TEST(a_library_is_unmapped_when_its_last_user_ends);
  CPPUNIT_TEST(a_swap_can_begin_during_the_wait_for_the_last_user);
  CPPUNIT_TEST(a_user_that_never_ends_holds_up_no_other_backend);
  CPPUNIT_TEST(the_list_can_be_read_during_stop);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    folder_.emplace();
    log_.emplace();
  }
  void tearDown() override {
    retirement_.reset();
    log_.reset();
    folder_.reset();
  }

 private:
  // A backend that retires at once, for it serves no IP family.
  std::shared_ptr<BackendRun> make(const std::string& name) {
    folder_->add("good", name);
    plugin::LoadRequest request = folder_->request(name);
    request.id = "good";
    request.copy = true;  // a library of its own
    auto loaded = plugin::load_plugin(request);
    CPPUNIT_ASSERT_EQUAL(std::string(), loaded.status().message());
    BackendRun::Settings settings;
    settings.plugin = std::move(*loaded);
    return environment_.make(std::move(settings));
  }
  // The retirement has the only reference, unless the test keeps one.
  void retire(std::shared_ptr<BackendRun> run) { retirement_->add({.run = std::move(run), .until = clock_.now()}); }
  void start(std::chrono::milliseconds unload_timeout) {
    retirement_.emplace(Retirement::Options{.interval = 5ms, .unload_timeout = unload_timeout}, events_, clock_);
    retirement_->start();
  }
  bool logged(const std::string& part) const { return log_->text().find(part) != std::string::npos; }
  static bool mapped(const std::string& name) { return test::is_mapped("/memfd:" + name + ".so"); }
  // The retirement has released its reference, and waits for this one.
  static bool waits_for_user(const std::shared_ptr<BackendRun>& run) {
    return wait_until([&] { return run.use_count() == 1 && run->shared_plugin().use_count() == 2; });
  }

  void a_library_is_unmapped_when_its_last_user_ends() {
    start(1h);
    auto user = make("first");
    retire(user);
    const bool waits = waits_for_user(user);
    CPPUNIT_ASSERT(mapped("first"));
    CPPUNIT_ASSERT(!logged("unloaded"));
    user.reset();
    CPPUNIT_ASSERT(waits);
    CPPUNIT_ASSERT(wait_until([&] { return logged("/first.so (1.2.3) is unloaded"); }));
    CPPUNIT_ASSERT(!mapped("first"));
  }

  void a_swap_can_begin_during_the_wait_for_the_last_user() {
    start(1h);
    auto user = make("first");
    retire(user);
    const bool waits = waits_for_user(user);
    auto swap = std::async(std::launch::async, [&] { const lib::Lock pause(retirement_->pause_mutex()); });
    const bool begins = wait_until([&] { return swap.wait_for(0s) == std::future_status::ready; });
    user.reset();
    swap.get();
    CPPUNIT_ASSERT(waits);
    CPPUNIT_ASSERT(begins);
  }

  void a_user_that_never_ends_holds_up_no_other_backend() {
    start(0ms);
    auto user = make("first");
    retire(user);
    CPPUNIT_ASSERT(wait_until([&] {
      return logged(
          "/first.so: it stays mapped: a part of the daemon still uses it; it is unmapped when that part ends");
    }));
    retire(make("second"));
    CPPUNIT_ASSERT(wait_until([&] { return logged("/second.so (1.2.3) is unloaded"); }));
    retirement_->stop();
    CPPUNIT_ASSERT(mapped("first"));
    CPPUNIT_ASSERT_EQUAL(std::string("good"), user->plugin().id());
    CPPUNIT_ASSERT(!logged("/first.so is unloaded"));
    // The thread of the retirement has ended, so this one unmaps the library.
    user.reset();
    CPPUNIT_ASSERT(logged("/first.so is unloaded: its last user has ended"));
    CPPUNIT_ASSERT(!mapped("first"));
  }

  // The thread sanitizer judges it.
  void the_list_can_be_read_during_stop() {
    start(1h);
    auto run = make("first");
    std::atomic<bool> done{false};
    std::atomic<std::size_t> reads{0};
    std::thread reader([&] {
      while (!done) reads += retirement_->list().size() + 1;
    });
    retire(std::move(run));
    const bool began = wait_until([&] { return reads > 0; });
    retirement_->stop();
    done = true;
    reader.join();
    CPPUNIT_ASSERT(began);
  }

  const lib::SteadyClock clock_{};
  RunEnvironment environment_{clock_};
  Retirement::Observer events_;  // ignored
  std::optional<test::ZooFolder> folder_;
  std::optional<test::CapturedLog> log_;
  std::optional<Retirement> retirement_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(RetirementTest);

}  // namespace retirement_test
}  // namespace sluice::lifecycle
