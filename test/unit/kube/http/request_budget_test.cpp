// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/request_budget.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "lib/clock.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/plugin/captured_log.hpp"

namespace sluice::kube {
namespace request_budget_test {

using namespace std::chrono_literals;

// Stands still, and counts how often the budget reads it: once per request, under its lock.
class CountingClock final : public lib::Clock {
 public:
  Time now() const override {
    ++reads;
    return Time(std::chrono::microseconds(1));
  }
  mutable std::atomic<int> reads{0};
};

struct BudgetWorld {
  explicit BudgetWorld(const RequestBudgetOptions& options) : budget(options, clock) {}

  bool get() { return budget.wait({"/api/v1/services", {}, false}); }
  // Waits until a request has to wait for more than a second.
  void await_log() const {
    test::wait_until([&] { return !log.lines().empty(); });  // no assertion, as other threads wait for stop()
  }

  CountingClock clock;
  test::CapturedLog log;
  RequestBudget budget;
};

class RequestBudgetTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RequestBudgetTest);
  CPPUNIT_TEST(a_burst_passes_and_the_next_request_waits);
  CPPUNIT_TEST(tokens_are_refilled_up_to_the_burst);
  CPPUNIT_TEST(requests_are_served_in_order);
  CPPUNIT_TEST(a_tiny_rate_does_not_overflow);
  CPPUNIT_TEST(a_burst_passes_at_once);
  CPPUNIT_TEST(the_first_request_beyond_the_burst_waits);
  CPPUNIT_TEST(a_negative_rate_is_no_limit);
  CPPUNIT_TEST(zero_is_the_default);
  CPPUNIT_TEST(stop_ends_the_wait);
  CPPUNIT_TEST(no_request_passes_after_stop);
  CPPUNIT_TEST(a_long_wait_is_logged_once);
  CPPUNIT_TEST_SUITE_END();

  void a_burst_passes_and_the_next_request_waits() {
    TokenBucket bucket(5, 10, lib::Clock::Time());
    for (int i = 0; i < 10; ++i) CPPUNIT_ASSERT(bucket.take(lib::Clock::Time()) == 0ns);
    CPPUNIT_ASSERT(bucket.take(lib::Clock::Time()) == 200ms);
    CPPUNIT_ASSERT(bucket.take(lib::Clock::Time()) == 400ms);
  }

  void tokens_are_refilled_up_to_the_burst() {
    const lib::Clock::Time begin{};
    TokenBucket bucket(2, 3, begin);
    for (int i = 0; i < 3; ++i) bucket.take(begin);
    CPPUNIT_ASSERT(bucket.take(begin + 250ms) == 250ms);
    // A reserved token is not given twice.
    CPPUNIT_ASSERT(bucket.take(begin + 500ms) == 500ms);
    for (int i = 0; i < 3; ++i) CPPUNIT_ASSERT(bucket.take(begin + 1h) == 0ns);
    CPPUNIT_ASSERT(bucket.take(begin + 1h) == 500ms);
  }

  void requests_are_served_in_order() {
    const lib::Clock::Time begin{};
    TokenBucket bucket(1, 1, begin);
    bucket.take(begin);
    const auto first = begin + bucket.take(begin);
    const auto second = begin + 300ms + bucket.take(begin + 300ms);
    CPPUNIT_ASSERT(first < second);
    CPPUNIT_ASSERT(second - first == 1s);
  }

  void a_tiny_rate_does_not_overflow() {
    TokenBucket bucket(1e-300, 1, lib::Clock::Time());
    bucket.take(lib::Clock::Time());
    CPPUNIT_ASSERT(bucket.take(lib::Clock::Time()) == 24h);
  }

  void a_burst_passes_at_once() {
    BudgetWorld world({.qps = 0.001, .burst = 4});
    for (int i = 0; i < 4; ++i) CPPUNIT_ASSERT(world.get());
    CPPUNIT_ASSERT(world.log.lines().empty());
  }

  void the_first_request_beyond_the_burst_waits() {
    BudgetWorld world({.qps = 20, .burst = 1});
    CPPUNIT_ASSERT(world.get());
    const auto begin = std::chrono::steady_clock::now();
    CPPUNIT_ASSERT(world.get());
    CPPUNIT_ASSERT(std::chrono::steady_clock::now() - begin >= 50ms);
    CPPUNIT_ASSERT(world.log.lines().empty());
  }

  void a_negative_rate_is_no_limit() {
    BudgetWorld world({.qps = -1, .burst = 1});
    for (int i = 0; i < 1000; ++i) CPPUNIT_ASSERT(world.get());
  }

  void zero_is_the_default() {
    BudgetWorld world({.qps = 0, .burst = 0});
    for (int i = 0; i < 10; ++i) CPPUNIT_ASSERT(world.get());
    // The eleventh request waits a fifth of a second, as with qps 5 and burst 10.
    const auto begin = std::chrono::steady_clock::now();
    CPPUNIT_ASSERT(world.get());
    CPPUNIT_ASSERT(std::chrono::steady_clock::now() - begin >= 200ms);
  }

  void stop_ends_the_wait() {
    BudgetWorld world({.qps = 0.001, .burst = 1});
    CPPUNIT_ASSERT(world.get());
    bool passed = true;
    std::thread waiting([&] { passed = world.get(); });
    world.await_log();
    world.budget.stop();
    waiting.join();
    CPPUNIT_ASSERT(!passed);
  }

  void no_request_passes_after_stop() {
    for (const double qps : {5.0, -1.0}) {
      BudgetWorld world({.qps = qps, .burst = 10});
      world.budget.stop();
      CPPUNIT_ASSERT(!world.get());
    }
  }

  void a_long_wait_is_logged_once() {
    BudgetWorld world({.qps = 0.4, .burst = 1});
    CPPUNIT_ASSERT(world.get());
    std::vector<std::thread> waiting;
    const int before = world.clock.reads;
    for (int i = 0; i < 3; ++i) waiting.emplace_back([&] { static_cast<void>(world.get()); });
    test::wait_until([&] { return world.clock.reads == before + 3; });  // no assertion, as the threads wait for stop()
    world.budget.stop();
    for (auto& thread : waiting) thread.join();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), world.log.lines().size());
    CPPUNIT_ASSERT_EQUAL(
        std::string("WARN sluice.kube requests to the API server wait for the client's own limit: GET /api/v1/services "
                    "by 2.5 s; raise the client connection's qps and burst if this goes on"),
        world.log.lines()[0]);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RequestBudgetTest);

}  // namespace request_budget_test
}  // namespace sluice::kube
