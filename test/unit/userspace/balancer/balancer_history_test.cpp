// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The balancer against its model, and from several threads at once. Runs for minutes with SLUICE_LONG=1.
#include "test/unit/userspace/balancer/balancer_history.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "plugins/userspace/balancer/balancer.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/repetitions.hpp"

namespace sluice::userspace {
namespace balancer_history_test {

SocketAddress endpoint(std::size_t number) {
  abi::Address address{};
  address.bytes[15] = static_cast<std::uint8_t>(number);
  return {abi::Family::kIpv6, address, 80};
}

// Joins the threads in any case.
struct Threads {
  std::atomic<bool>& stopping;
  std::vector<std::thread> running;
  void end() {
    stopping.store(true);
    for (std::thread& thread : running) thread.join();
    running.clear();
  }
  ~Threads() { end(); }
};

class BalancerHistoryTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(BalancerHistoryTest);
  CPPUNIT_TEST(random_histories_agree_with_the_model);
  CPPUNIT_TEST(threads_share_a_balancer);
  CPPUNIT_TEST_SUITE_END();

  void random_histories_agree_with_the_model() {
    const std::uint64_t histories = test::repetitions(400, 50'000);
    for (std::uint64_t seed = 0; seed < histories; ++seed) {
      Random random(seed);
      const auto choose = [&](std::size_t count) { return random.below(count); };
      const std::string problem = rig::run_balancer_history(choose, 300);
      CPPUNIT_ASSERT_MESSAGE("seed " + std::to_string(seed) + ": " + problem, problem.empty());
    }
  }

  // Three threads relay, one changes everything. No endpoint is returned that was removed before the call, and the
  // final counts are right.
  void threads_share_a_balancer() {
    BalancerSettings settings;
    settings.max_affinity_clients = 500;
    settings.outliers.first_pause = std::chrono::milliseconds(1);
    settings.outliers.longest_pause = std::chrono::milliseconds(4);
    for (const Balance balance : {Balance::kRoundRobin, Balance::kLeastConnections, Balance::kTwoChoices}) {
      settings.balance = balance;
      Balancer balancer(settings, 1);
      std::vector<SocketAddress> twenty;
      for (std::size_t i = 0; i < 20; ++i) twenty.push_back(endpoint(i));
      balancer.set_endpoints(twenty);
      balancer.set_affinity(1);
      std::atomic<Nanoseconds> now{1};
      std::atomic<bool> stopping{false};
      std::atomic<std::uint64_t> given{0};

      const auto relay = [&](std::uint64_t seed) {
        Random random(seed);
        while (!stopping.load()) {
          abi::Address client{};
          client.bytes[14] = static_cast<std::uint8_t>(random.below(4));
          client.bytes[15] = static_cast<std::uint8_t>(random.below(256));
          std::vector<EndpointPtr> tried;
          for (int attempt = 0; attempt < 3; ++attempt) {
            const EndpointPtr mine = balancer.next(client, now.fetch_add(1000), tried);
            if (mine == nullptr) break;
            ++given;
            mine->connected();
            const std::size_t how = random.below(8);
            if (how < 3)
              balancer.dial_failed(mine, now.load());
            else if (how == 3)
              balancer.dial_abandoned(mine);
            else
              balancer.dial_succeeded(mine);
            mine->disconnected();
            if (how >= 3) break;
            tried.push_back(mine);
          }
        }
      };
      Threads threads{stopping, {}};
      for (std::uint64_t seed = 1; seed <= 3; ++seed) threads.running.emplace_back(relay, seed);

      Random random(99);
      std::set<EndpointPtr> gone;
      const int rounds = test::is_long_form() ? 20'000 : 200;
      for (int i = 0; i < rounds; ++i) {
        std::vector<SocketAddress> some;
        for (const SocketAddress& one : twenty) {
          if (random.below(2) == 0) some.push_back(one);
        }
        for (EndpointPtr& old : balancer.set_endpoints(some).gone) {
          CPPUNIT_ASSERT(old->retired());
          CPPUNIT_ASSERT_MESSAGE("an endpoint is removed once", gone.insert(std::move(old)).second);
        }
        const EndpointPtr mine = balancer.next(abi::Address{}, now.load());
        CPPUNIT_ASSERT(mine == nullptr ? some.empty() : !gone.contains(mine));
        if (i % 8 == 0) balancer.set_affinity(static_cast<std::uint32_t>(random.below(3)));
        if (i % 4 == 0) balancer.purge(now.fetch_add(kSecond / 3));
        CPPUNIT_ASSERT(balancer.affinity_clients() <= 500);
        CPPUNIT_ASSERT(balancer.passed_over(now.load()) <= balancer.endpoints());
        std::this_thread::yield();
      }
      balancer.set_affinity(1);
      balancer.set_endpoints(twenty);
      CPPUNIT_ASSERT(sluice::test::wait_until([&] { return given.load() != 0; }));
      threads.end();

      CPPUNIT_ASSERT_EQUAL(std::size_t{20}, balancer.endpoints());
      balancer.purge(now.load() + 2 * kSecond);
      CPPUNIT_ASSERT_EQUAL(std::size_t{0}, balancer.affinity_clients());
      for (const EndpointPtr& old : balancer.set_endpoints({}).gone) CPPUNIT_ASSERT_EQUAL(0u, old->open());
      CPPUNIT_ASSERT_EQUAL(std::size_t{0}, balancer.passed_over(0));
    }
  }

  static constexpr Nanoseconds kSecond = 1'000'000'000;
};

CPPUNIT_TEST_SUITE_REGISTRATION(BalancerHistoryTest);

}  // namespace balancer_history_test
}  // namespace sluice::userspace
