// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/last_release.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/plugin/loader.hpp"
#include "test/unit/patience.hpp"

namespace sluice::plugin {
namespace last_release_test {

using namespace std::chrono_literals;

// Records how often and on which thread a library is unmapped.
struct Unmapped {
  std::atomic<int> times = 0;
  std::thread::id thread;  // of the last time
};

class LastReleaseTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LastReleaseTest);
  CPPUNIT_TEST(only_reference_is_released_at_once);
  CPPUNIT_TEST(waiting_thread_unmaps_the_library);
  CPPUNIT_TEST(last_owner_unmaps_the_library_after_the_timeout);
  CPPUNIT_TEST(unreleased_reference_keeps_the_library);
  CPPUNIT_TEST(second_wait_succeeds_after_a_timeout);
  CPPUNIT_TEST(last_owner_unmaps_the_library_without_a_wait);
  CPPUNIT_TEST(concurrent_owners_unmap_once);
  CPPUNIT_TEST_SUITE_END();

  using Reference = std::shared_ptr<const Plugin>;

  Unmapped unmapped_;

  Reference load(std::shared_ptr<LastRelease> signal = std::make_shared<LastRelease>()) {
    unmapped_.times = 0;
    const std::shared_ptr<const void> library(&unmapped_, [](Unmapped* of) {
      of->thread = std::this_thread::get_id();
      ++of->times;
    });
    abi::PluginEntry entry{};
    entry.id = entry.version = entry.build = "test";
    return LastRelease::share(std::make_unique<const Plugin>(library, "/nowhere.so", entry, Plugin::Mapping(), signal),
                              signal);
  }

  void only_reference_is_released_at_once() {
    Reference only = load();
    const auto signal = only->last_release();
    const auto last = signal->take(std::move(only), 0ms, {});
    CPPUNIT_ASSERT(last != nullptr);
    CPPUNIT_ASSERT_EQUAL(0, unmapped_.times.load());
  }

  void waiting_thread_unmaps_the_library() {
    Reference first = load();
    Reference other = first;
    const auto signal = first->last_release();
    std::thread::id waiter;
    auto done = std::async(std::launch::async, [&, first = std::move(first)]() mutable {
      waiter = std::this_thread::get_id();
      return signal->take(std::move(first), 1h, {}) != nullptr;
    });
    // The waiting thread has released its own reference, so it waits for this one.
    const bool waits = test::wait_until([&] { return other.use_count() == 1; });
    CPPUNIT_ASSERT_EQUAL(0, unmapped_.times.load());
    other.reset();
    CPPUNIT_ASSERT(waits);
    CPPUNIT_ASSERT(done.get());
    CPPUNIT_ASSERT_EQUAL(1, unmapped_.times.load());
    CPPUNIT_ASSERT(unmapped_.thread == waiter);
  }

  void last_owner_unmaps_the_library_after_the_timeout() {
    Reference first = load();
    Reference other = first;
    int late = 0;
    const auto signal = first->last_release();
    CPPUNIT_ASSERT(signal->take(std::move(first), 0ms, [&] { late += 1 + 10 * unmapped_.times; }) == nullptr);
    CPPUNIT_ASSERT_EQUAL(0, unmapped_.times.load());
    CPPUNIT_ASSERT_EQUAL(0, late);
    std::thread owner([other = std::move(other)]() mutable { other.reset(); });
    const auto thread = owner.get_id();
    owner.join();
    CPPUNIT_ASSERT_EQUAL(1, unmapped_.times.load());
    CPPUNIT_ASSERT(unmapped_.thread == thread);
    CPPUNIT_ASSERT_EQUAL(11, late);  // once, and after the library was unmapped
  }

  void unreleased_reference_keeps_the_library() {
    bool late = false;  // outlives the references, whose release may set it
    Reference first = load();
    const Reference kept = first;
    const auto signal = first->last_release();
    CPPUNIT_ASSERT(signal->take(std::move(first), 1ms, [&] { late = true; }) == nullptr);
    CPPUNIT_ASSERT_EQUAL(std::string("test"), kept->id());
    CPPUNIT_ASSERT_EQUAL(0, unmapped_.times.load());
    CPPUNIT_ASSERT(!late);
  }

  void second_wait_succeeds_after_a_timeout() {
    bool late = false;  // outlives the references, whose release may set it
    Reference first = load();
    Reference other = first;
    const auto signal = first->last_release();
    CPPUNIT_ASSERT(signal->take(std::move(first), 0ms, [&] { late = true; }) == nullptr);
    CPPUNIT_ASSERT(signal->take(std::move(other), 0ms, {}) != nullptr);
    CPPUNIT_ASSERT_EQUAL(1, unmapped_.times.load());
    CPPUNIT_ASSERT(!late);
  }

  void last_owner_unmaps_the_library_without_a_wait() {
    load();
    CPPUNIT_ASSERT_EQUAL(1, unmapped_.times.load());
    CPPUNIT_ASSERT(unmapped_.thread == std::this_thread::get_id());
  }

  // Owners release before, during and after the wait; also useful with the thread sanitizer.
  void concurrent_owners_unmap_once() {
    for (int round = 0; round < 200; ++round) {
      Reference first = load();
      const auto signal = first->last_release();
      std::atomic<int> late = 0;
      std::promise<void> start;
      const auto started = start.get_future().share();
      std::vector<std::thread> owners;
      for (int i = 0; i < 4; ++i) {
        owners.emplace_back([mine = first, started]() mutable {
          started.wait();
          const Reference copy = mine;
          mine.reset();
        });
      }
      start.set_value();
      const bool in_time =
          signal->take(std::move(first), std::chrono::milliseconds(round % 2), [&] { ++late; }) != nullptr;
      for (auto& owner : owners) owner.join();
      CPPUNIT_ASSERT_EQUAL(1, unmapped_.times.load());
      CPPUNIT_ASSERT_EQUAL(in_time ? 0 : 1, late.load());
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(LastReleaseTest);

}  // namespace last_release_test
}  // namespace sluice::plugin
