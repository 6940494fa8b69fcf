// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/balancer/balancer.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sluice/sdk/address.hpp"

namespace sluice::userspace {
namespace balancer_test {

constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr Nanoseconds kMillisecond = 1'000'000;

SocketAddress endpoint(unsigned number, std::uint16_t port = 80) {
  abi::Address address{};
  address.bytes[0] = 10;
  address.bytes[1] = 1;
  address.bytes[2] = static_cast<std::uint8_t>(number >> 8);
  address.bytes[3] = static_cast<std::uint8_t>(number);
  return {abi::Family::kIpv4, address, port};
}

std::vector<SocketAddress> endpoints(unsigned count) {
  std::vector<SocketAddress> out;
  for (unsigned i = 1; i <= count; ++i) out.push_back(endpoint(i));
  return out;
}

abi::Address client(unsigned number) {
  abi::Address address{};
  address.bytes[0] = 192;
  address.bytes[2] = static_cast<std::uint8_t>(number >> 8);
  address.bytes[3] = static_cast<std::uint8_t>(number);
  return address;
}

std::string name(const EndpointPtr& endpoint) {
  if (endpoint == nullptr) return "none";
  return sdk::host_port(endpoint->target().address(), abi::Family::kIpv4, endpoint->target().port());
}

BalancerSettings settings(Balance balance = Balance::kRoundRobin) {
  BalancerSettings out;
  out.balance = balance;
  return out;
}

class BalancerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(BalancerTest);
  CPPUNIT_TEST(an_empty_list_yields_no_endpoint);
  CPPUNIT_TEST(endpoints_take_turns_after_the_shuffle);
  CPPUNIT_TEST(the_same_set_keeps_order_and_index);
  CPPUNIT_TEST(a_changed_set_is_shuffled_and_starts_at_its_first);
  CPPUNIT_TEST(orders_differ_with_the_seed);
  CPPUNIT_TEST(remaining_endpoints_keep_their_object_and_removed_ones_retire);
  CPPUNIT_TEST(a_port_or_a_family_makes_another_endpoint);
  CPPUNIT_TEST(affinity_expires);
  CPPUNIT_TEST(use_renews_affinity);
  CPPUNIT_TEST(a_changed_affinity_timeout_takes_effect_at_once);
  CPPUNIT_TEST(a_failed_dial_rebinds_the_client);
  CPPUNIT_TEST(a_removed_endpoint_unbinds_only_its_own_clients);
  CPPUNIT_TEST(a_reused_slot_does_not_inherit_clients);
  CPPUNIT_TEST(switching_affinity_off_drops_all_clients);
  CPPUNIT_TEST(purge_removes_expired_clients);
  CPPUNIT_TEST(the_least_recently_used_client_is_evicted);
  CPPUNIT_TEST(tried_endpoints_come_last);
  CPPUNIT_TEST(an_endpoint_is_passed_over_after_consecutive_failures);
  CPPUNIT_TEST(a_success_between_starts_the_count_again);
  CPPUNIT_TEST(zero_failures_disables_outlier_detection);
  CPPUNIT_TEST(pauses_double_and_end_with_one_trial);
  CPPUNIT_TEST(pending_dials_do_not_lengthen_a_pause);
  CPPUNIT_TEST(a_trial_without_outcome_is_followed_by_another);
  CPPUNIT_TEST(an_abandoned_trial_is_free_for_the_next);
  CPPUNIT_TEST(when_all_are_passed_over_all_are_used);
  CPPUNIT_TEST(clients_leave_an_endpoint_that_is_passed_over);
  CPPUNIT_TEST(candidates_and_bindings_are_read_without_effect);
  CPPUNIT_TEST(failure_counts_survive_a_change_of_the_list);
  CPPUNIT_TEST(a_retired_endpoint_is_not_counted);
  CPPUNIT_TEST(the_fewest_connections_win_and_equals_take_turns);
  CPPUNIT_TEST(two_choices_avoid_the_busiest);
  CPPUNIT_TEST(two_choices_prefer_endpoints_not_tried);
  CPPUNIT_TEST(time_that_goes_back_is_harmless);
  CPPUNIT_TEST_SUITE_END();

  static std::vector<std::string> round(Balancer& balancer, std::size_t count, Nanoseconds now = 0) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(name(balancer.next(client(1), now)));
    return out;
  }

  // Fails dials of `endpoint` up to the default threshold.
  static void fail(Balancer& balancer, const EndpointPtr& endpoint, Nanoseconds now) {
    for (unsigned i = 0; i < OutlierSettings{}.failures; ++i) balancer.dial_failed(endpoint, now);
  }

  void an_empty_list_yields_no_endpoint() {
    Balancer balancer(settings(), 1);
    CPPUNIT_ASSERT(balancer.next(client(1), 0) == nullptr);
    balancer.set_affinity(10);
    CPPUNIT_ASSERT(balancer.next(client(1), 0) == nullptr);
    balancer.set_endpoints(endpoints(1));
    CPPUNIT_ASSERT(balancer.next(client(1), 0) != nullptr);
    balancer.set_endpoints({});
    CPPUNIT_ASSERT(balancer.next(client(1), 0) == nullptr);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, balancer.endpoints());
  }

  // BEH case 128.
  void endpoints_take_turns_after_the_shuffle() {
    Balancer balancer(settings(), 7);
    balancer.set_endpoints(endpoints(3));
    const auto first = round(balancer, 3);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, std::set<std::string>(first.begin(), first.end()).size());
    for (int i = 0; i < 5; ++i) CPPUNIT_ASSERT(first == round(balancer, 3));
  }

  // BEH case 128.
  void the_same_set_keeps_order_and_index() {
    Balancer balancer(settings(), 7);
    auto list = endpoints(5);
    CPPUNIT_ASSERT(balancer.set_endpoints(list).changed);
    const auto first = round(balancer, 5);
    round(balancer, 2);
    std::swap(list[0], list[4]);
    list.push_back(list[2]);  // duplicates are removed
    const Balancer::Change change = balancer.set_endpoints(list);
    CPPUNIT_ASSERT(!change.changed && change.gone.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{5}, balancer.endpoints());
    CPPUNIT_ASSERT_EQUAL(first[2], name(balancer.next(client(1), 0)));
    CPPUNIT_ASSERT_EQUAL(first[3], name(balancer.next(client(1), 0)));
  }

  void a_changed_set_is_shuffled_and_starts_at_its_first() {
    Balancer balancer(settings(), 7);
    std::set<std::vector<std::string>> orders;
    for (unsigned i = 0; i < 20; ++i) {
      balancer.set_endpoints(endpoints(10 + i % 2));
      auto order = round(balancer, 10 + i % 2);
      round(balancer, i % 5);
      CPPUNIT_ASSERT_EQUAL(std::size_t{10 + i % 2}, std::set<std::string>(order.begin(), order.end()).size());
      orders.insert(std::move(order));
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{20}, orders.size());  // two equal ones: one in 10,000, and the seed is fixed
  }

  void orders_differ_with_the_seed() {
    std::set<std::vector<std::string>> orders;
    std::map<std::string, int> firsts;
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
      Balancer balancer(settings(), seed);
      balancer.set_endpoints(endpoints(3));
      orders.insert(round(balancer, 3));
      balancer.set_endpoints(endpoints(4));
      ++firsts[name(balancer.next(client(1), 0))];
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{6}, orders.size());
    for (const auto& [chosen, times] : firsts)
      CPPUNIT_ASSERT_MESSAGE(chosen, times > 100 && times < 200);  // 150 expected
  }

  void remaining_endpoints_keep_their_object_and_removed_ones_retire() {
    Balancer balancer(settings(), 3);
    balancer.set_endpoints(endpoints(2));
    std::map<std::string, EndpointPtr> before;
    for (int i = 0; i < 2; ++i) {
      const EndpointPtr given = balancer.next(client(1), 0);
      before[name(given)] = given;
    }
    before["10.1.0.1:80"]->connected();
    const std::vector<SocketAddress> remaining{endpoint(3), endpoint(1)};
    const Balancer::Change change = balancer.set_endpoints(remaining);
    CPPUNIT_ASSERT(change.changed);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, change.gone.size());
    CPPUNIT_ASSERT(change.gone[0] == before["10.1.0.2:80"]);
    CPPUNIT_ASSERT(before["10.1.0.2:80"]->retired());
    CPPUNIT_ASSERT(!before["10.1.0.1:80"]->retired());
    for (int i = 0; i < 2; ++i) {
      const EndpointPtr given = balancer.next(client(1), 0);
      CPPUNIT_ASSERT(name(given) == "10.1.0.3:80" || given == before["10.1.0.1:80"]);
    }
    // An endpoint that is added again is a new object.
    balancer.set_endpoints(std::vector<SocketAddress>{endpoint(2)});
    CPPUNIT_ASSERT(balancer.next(client(1), 0) != before["10.1.0.2:80"]);
  }

  void a_port_or_a_family_makes_another_endpoint() {
    Balancer balancer(settings(), 3);
    abi::Address same = endpoint(1).address();
    const std::vector<SocketAddress> list{endpoint(1), endpoint(1, 81), {abi::Family::kIpv6, same, 80}};
    balancer.set_endpoints(list);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, balancer.endpoints());
  }

  // BEH case 129.
  void affinity_expires() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(3));
    balancer.set_affinity(10);
    const EndpointPtr mine = balancer.next(client(1), kSecond);
    CPPUNIT_ASSERT(balancer.next(client(2), kSecond) != mine);
    CPPUNIT_ASSERT(balancer.next(client(3), kSecond) != mine);
    CPPUNIT_ASSERT(balancer.next(client(1), 11 * kSecond - 1) == mine);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, balancer.affinity_clients());
    // The affinity of clients 2 and 3 expires at 11 s: both are assigned again, in turn.
    CPPUNIT_ASSERT(balancer.next(client(2), 11 * kSecond) == mine);
    CPPUNIT_ASSERT(balancer.next(client(3), 11 * kSecond) != mine);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, balancer.affinity_clients());
  }

  void use_renews_affinity() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(3));
    balancer.set_affinity(10);
    const EndpointPtr mine = balancer.next(client(1), 0);
    for (Nanoseconds now = 0; now < 100 * kSecond; now += 9 * kSecond) {
      CPPUNIT_ASSERT(balancer.next(client(1), now) == mine);
      balancer.purge(now);
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, balancer.affinity_clients());
  }

  void a_changed_affinity_timeout_takes_effect_at_once() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(2));
    balancer.set_affinity(10);
    const EndpointPtr mine = balancer.next(client(1), 0);
    balancer.set_affinity(60);
    CPPUNIT_ASSERT(balancer.next(client(1), 50 * kSecond) == mine);
    balancer.set_affinity(5);
    CPPUNIT_ASSERT(balancer.next(client(1), 55 * kSecond) != mine);
  }

  // BEH case 129.
  void a_failed_dial_rebinds_the_client() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(3));
    balancer.set_affinity(10);
    const EndpointPtr first = balancer.next(client(1), 0);
    balancer.dial_failed(first, 0);
    std::vector<EndpointPtr> tried{first};
    const EndpointPtr second = balancer.next(client(1), 0, tried);
    CPPUNIT_ASSERT(second != first);
    for (int i = 0; i < 5; ++i) CPPUNIT_ASSERT(balancer.next(client(1), 0) == second);
    // A retry ignores affinity.
    CPPUNIT_ASSERT(balancer.next(client(1), 0, tried) != second);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, balancer.affinity_clients());
  }

  void a_removed_endpoint_unbinds_only_its_own_clients() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(4));
    balancer.set_affinity(10);
    std::map<unsigned, EndpointPtr> before;
    for (unsigned i = 0; i < 4000; ++i) before[i] = balancer.next(client(i), 0);
    balancer.set_endpoints(endpoints(3));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3000}, balancer.affinity_clients());
    for (unsigned i = 0; i < 4000; ++i) {
      const EndpointPtr now = balancer.next(client(i), 0);
      CPPUNIT_ASSERT(!now->retired());
      if (!before[i]->retired()) CPPUNIT_ASSERT(now == before[i]);
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{4000}, balancer.affinity_clients());
    balancer.set_endpoints({});
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, balancer.affinity_clients());
  }

  void a_reused_slot_does_not_inherit_clients() {
    Balancer balancer(settings(), 5);
    balancer.set_affinity(1000);
    for (unsigned i = 1; i < 50; ++i) {
      const std::vector<SocketAddress> list{endpoint(i), endpoint(i + 1)};
      balancer.set_endpoints(list);
      CPPUNIT_ASSERT(balancer.affinity_clients() <= 20);
      for (unsigned j = 0; j < 20; ++j) CPPUNIT_ASSERT(!balancer.next(client(j), i)->retired());
      CPPUNIT_ASSERT_EQUAL(std::size_t{20}, balancer.affinity_clients());
    }
  }

  void switching_affinity_off_drops_all_clients() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(2));
    balancer.set_affinity(10);
    const EndpointPtr mine = balancer.next(client(1), 0);
    balancer.set_affinity(0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, balancer.affinity_clients());
    CPPUNIT_ASSERT(balancer.next(client(1), 0) != mine);
    CPPUNIT_ASSERT(balancer.next(client(1), 0) == mine);
    balancer.set_affinity(10);
    CPPUNIT_ASSERT(balancer.next(client(1), 0) != mine);
  }

  void purge_removes_expired_clients() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(2));
    balancer.set_affinity(10);
    for (unsigned i = 0; i < 1000; ++i) balancer.next(client(i), i * kSecond / 100);  // the last at 9.99 s
    balancer.purge(10 * kSecond - 1);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1000}, balancer.affinity_clients());
    balancer.purge(10 * kSecond);
    CPPUNIT_ASSERT_EQUAL(std::size_t{999}, balancer.affinity_clients());
    balancer.purge(16 * kSecond);
    CPPUNIT_ASSERT_EQUAL(std::size_t{399}, balancer.affinity_clients());
    balancer.purge(100 * kSecond);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, balancer.affinity_clients());
  }

  void the_least_recently_used_client_is_evicted() {
    BalancerSettings given = settings();
    given.max_affinity_clients = 3;
    Balancer balancer(given, 5);
    balancer.set_endpoints(endpoints(7));
    balancer.set_affinity(10);
    std::map<unsigned, EndpointPtr> mine;
    for (unsigned i = 0; i < 3; ++i) mine[i] = balancer.next(client(i), i);
    CPPUNIT_ASSERT(balancer.next(client(0), 3) == mine[0]);
    mine[3] = balancer.next(client(3), 4);  // evicts client 1
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, balancer.affinity_clients());
    for (const unsigned i : {0u, 2u, 3u}) CPPUNIT_ASSERT(balancer.next(client(i), 5) == mine[i]);
    CPPUNIT_ASSERT(balancer.next(client(1), 6) != mine[1]);
  }

  void tried_endpoints_come_last() {
    for (const Balance balance : {Balance::kRoundRobin, Balance::kLeastConnections, Balance::kTwoChoices}) {
      Balancer balancer(settings(balance), 5);
      balancer.set_endpoints(endpoints(6));
      std::vector<EndpointPtr> tried;
      for (int i = 0; i < 6; ++i) {
        const EndpointPtr given = balancer.next(client(1), 0, tried);
        for (const EndpointPtr& earlier : tried) CPPUNIT_ASSERT(given != earlier);
        tried.push_back(given);
      }
      CPPUNIT_ASSERT(balancer.next(client(1), 0, tried) != nullptr);
    }
  }

  void an_endpoint_is_passed_over_after_consecutive_failures() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(3));
    const EndpointPtr bad = balancer.next(client(1), 0);
    balancer.dial_failed(bad, 0);
    balancer.dial_failed(bad, 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, balancer.passed_over(0));
    round(balancer, 2);
    CPPUNIT_ASSERT(balancer.next(client(1), 0) == bad);
    balancer.dial_failed(bad, 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, balancer.passed_over(0));
    for (int i = 0; i < 10; ++i) CPPUNIT_ASSERT(balancer.next(client(1), kSecond - 1) != bad);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, balancer.passed_over(kSecond));
  }

  void a_success_between_starts_the_count_again() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(2));
    const EndpointPtr one = balancer.next(client(1), 0);
    for (int i = 0; i < 10; ++i) {
      balancer.dial_failed(one, 0);
      balancer.dial_failed(one, 0);
      balancer.dial_succeeded(one);
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, balancer.passed_over(0));
  }

  void zero_failures_disables_outlier_detection() {
    BalancerSettings given = settings();
    given.outliers.failures = 0;
    Balancer balancer(given, 5);
    balancer.set_endpoints(endpoints(2));
    const EndpointPtr one = balancer.next(client(1), 0);
    for (int i = 0; i < 100; ++i) balancer.dial_failed(one, 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, balancer.passed_over(0));
    balancer.next(client(1), 0);
    CPPUNIT_ASSERT(balancer.next(client(1), 0) == one);
  }

  void pauses_double_and_end_with_one_trial() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(3));
    const EndpointPtr bad = balancer.next(client(1), 0);
    fail(balancer, bad, 0);
    Nanoseconds now = 0;
    for (const Nanoseconds seconds : {1, 2, 4, 8, 16, 32, 60, 60}) {
      const Nanoseconds end = now + seconds * kSecond;
      for (int i = 0; i < 6; ++i) CPPUNIT_ASSERT(balancer.next(client(1), end - 1) != bad);
      int given = 0;
      for (int i = 0; i < 12; ++i) given += balancer.next(client(1), end) == bad ? 1 : 0;
      CPPUNIT_ASSERT_EQUAL_MESSAGE("one connection is the trial", 1, given);
      now = end + 100 * kMillisecond;
      balancer.dial_failed(bad, now);
    }
    now += 60 * kSecond;
    while (balancer.next(client(1), now) != bad) {
    }
    balancer.dial_succeeded(bad);
    int given = 0;
    for (int i = 0; i < 12; ++i) given += balancer.next(client(1), now) == bad ? 1 : 0;
    CPPUNIT_ASSERT_EQUAL_MESSAGE("all as before", 4, given);
    // The next failures start with the first pause again.
    fail(balancer, bad, now);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, balancer.passed_over(now + kSecond - 1));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, balancer.passed_over(now + kSecond));
  }

  void pending_dials_do_not_lengthen_a_pause() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(2));
    const EndpointPtr bad = balancer.next(client(1), 0);
    for (int i = 0; i < 100; ++i) balancer.dial_failed(bad, 0);
    for (int i = 0; i < 100; ++i) balancer.dial_failed(bad, kSecond / 2);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, balancer.passed_over(kSecond - 1));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, balancer.passed_over(kSecond));
  }

  void a_trial_without_outcome_is_followed_by_another() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(2));
    const EndpointPtr bad = balancer.next(client(1), 0);
    fail(balancer, bad, 0);
    for (Nanoseconds now = kSecond; now < 5 * Balancer::kTrialTimeout; now += Balancer::kTrialTimeout) {
      int given = 0;
      for (int i = 0; i < 6; ++i) given += balancer.next(client(1), now) == bad ? 1 : 0;
      CPPUNIT_ASSERT_EQUAL(1, given);
      CPPUNIT_ASSERT(balancer.next(client(1), now + Balancer::kTrialTimeout - 1) != bad);
    }
  }

  void an_abandoned_trial_is_free_for_the_next() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(2));
    const EndpointPtr bad = balancer.next(client(1), 0);
    fail(balancer, bad, 0);
    balancer.dial_abandoned(bad);  // there is no trial yet: the pause continues
    CPPUNIT_ASSERT(balancer.next(client(1), kSecond - 1) != bad);
    for (int i = 0; i < 3; ++i) {
      int given = 0;
      for (int j = 0; j < 6; ++j) given += balancer.next(client(1), kSecond) == bad ? 1 : 0;
      CPPUNIT_ASSERT_EQUAL(1, given);
      balancer.dial_abandoned(bad);
    }
  }

  void when_all_are_passed_over_all_are_used() {
    for (const Balance balance : {Balance::kRoundRobin, Balance::kLeastConnections, Balance::kTwoChoices}) {
      Balancer balancer(settings(balance), 5);
      balancer.set_endpoints(endpoints(3));
      const auto removed = balancer.set_endpoints({}).gone;
      balancer.set_endpoints(endpoints(3));
      std::set<EndpointPtr> all;
      while (all.size() < 3) all.insert(balancer.next(client(1), 0));
      for (const EndpointPtr& each : all) fail(balancer, each, 0);
      CPPUNIT_ASSERT_EQUAL(std::size_t{3}, balancer.passed_over(1));
      std::map<EndpointPtr, int> given;
      for (int i = 0; i < 300; ++i) ++given[balancer.next(client(1), 1)];
      CPPUNIT_ASSERT_EQUAL(std::size_t{3}, given.size());
      if (balance != Balance::kTwoChoices) CPPUNIT_ASSERT_EQUAL(100, given.begin()->second);
      // Failures during the pause do not lengthen it.
      for (const EndpointPtr& each : all) fail(balancer, each, 2);
      CPPUNIT_ASSERT_EQUAL(std::size_t{0}, balancer.passed_over(kSecond));
    }
  }

  void clients_leave_an_endpoint_that_is_passed_over() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(2));
    balancer.set_affinity(100);
    const EndpointPtr first = balancer.next(client(1), 0);
    const EndpointPtr second = balancer.next(client(2), 0);
    fail(balancer, first, 0);
    CPPUNIT_ASSERT(balancer.next(client(1), 0) == second);
    balancer.dial_succeeded(first);
    CPPUNIT_ASSERT_MESSAGE("the client is bound there", balancer.next(client(1), 0) == second);
    // If all endpoints are passed over, bindings do not change.
    fail(balancer, first, kSecond);
    fail(balancer, second, kSecond);
    for (int i = 0; i < 4; ++i) CPPUNIT_ASSERT(balancer.next(client(1), kSecond) == second);
    // After a pause the first client bound there is the trial; other clients get other endpoints.
    balancer.dial_succeeded(first);
    CPPUNIT_ASSERT(balancer.next(client(1), 2 * kSecond) == second);
    CPPUNIT_ASSERT(balancer.next(client(2), 2 * kSecond) == first);
  }

  void failure_counts_survive_a_change_of_the_list() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(3));
    std::map<std::string, EndpointPtr> all;
    while (all.size() < 3) {
      const EndpointPtr given = balancer.next(client(1), 0);
      all[name(given)] = given;
    }
    fail(balancer, all["10.1.0.1:80"], 0);
    fail(balancer, all["10.1.0.3:80"], 0);
    balancer.set_endpoints(endpoints(2));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, balancer.passed_over(0));
    for (int i = 0; i < 4; ++i) CPPUNIT_ASSERT(balancer.next(client(1), 0) == all["10.1.0.2:80"]);
    balancer.set_endpoints(endpoints(3));  // number 3 is a new endpoint
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, balancer.passed_over(0));
  }

  void a_retired_endpoint_is_not_counted() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(1));
    const EndpointPtr old = balancer.next(client(1), 0);
    balancer.set_endpoints(std::vector<SocketAddress>{endpoint(2)});
    fail(balancer, old, 0);
    balancer.dial_succeeded(old);
    balancer.dial_abandoned(old);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, balancer.passed_over(0));
    const std::vector<EndpointPtr> tried{old};
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.0.2:80"), name(balancer.next(client(1), 0, tried)));
  }

  void the_fewest_connections_win_and_equals_take_turns() {
    Balancer balancer(settings(Balance::kLeastConnections), 5);
    balancer.set_endpoints(endpoints(3));
    std::map<EndpointPtr, int> given;
    for (int i = 0; i < 30; ++i) ++given[balancer.next(client(1), 0)];  // no connections are counted: all equal
    for (const auto& [chosen, times] : given) CPPUNIT_ASSERT_EQUAL_MESSAGE(name(chosen), 10, times);
    const EndpointPtr busy = given.begin()->first;
    for (int i = 0; i < 5; ++i) busy->connected();
    for (int i = 0; i < 10; ++i) {
      const EndpointPtr next = balancer.next(client(1), 0);
      CPPUNIT_ASSERT(next != busy);
      next->connected();
    }
    for (const auto& [chosen, times] : given) CPPUNIT_ASSERT_EQUAL_MESSAGE(name(chosen), 5u, chosen->open());
    busy->disconnected();
    CPPUNIT_ASSERT(balancer.next(client(1), 0) == busy);
    CPPUNIT_ASSERT(balancer.next(client(1), 0) == busy);
  }

  void two_choices_avoid_the_busiest() {
    Balancer balancer(settings(Balance::kTwoChoices), 5);
    balancer.set_endpoints(endpoints(10));
    std::map<EndpointPtr, int> given;
    for (int i = 0; i < 10000; ++i) {
      const EndpointPtr next = balancer.next(client(1), 0);
      next->connected();
      ++given[next];
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{10}, given.size());
    // A random choice would differ from 1,000 by more than 30 for some endpoints; two choices hardly by more than five.
    for (const auto& [chosen, times] : given) CPPUNIT_ASSERT_MESSAGE(name(chosen), times > 980 && times < 1020);
    const EndpointPtr busiest = given.begin()->first;
    for (int i = 0; i < 100; ++i) busiest->connected();
    for (int i = 0; i < 1000; ++i) CPPUNIT_ASSERT(balancer.next(client(1), 0) != busiest);
  }

  void two_choices_prefer_endpoints_not_tried() {
    Balancer balancer(settings(Balance::kTwoChoices), 5);
    balancer.set_endpoints(endpoints(3));
    std::set<EndpointPtr> all;
    while (all.size() < 3) all.insert(balancer.next(client(1), 0));
    const std::vector<EndpointPtr> two{*all.begin(), *std::next(all.begin())};
    const EndpointPtr third = *std::next(all.begin(), 2);
    for (int i = 0; i < 50; ++i) third->connected();
    for (int i = 0; i < 50; ++i) CPPUNIT_ASSERT(balancer.next(client(1), 0, two) == third);
    // Endpoints not tried rank before endpoints not passed over.
    fail(balancer, third, 0);
    CPPUNIT_ASSERT(balancer.next(client(1), 0, two) == third);
  }

  void candidates_and_bindings_are_read_without_effect() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(3));
    CPPUNIT_ASSERT(!balancer.bound_to(client(1), 0));
    balancer.set_affinity(10);
    const EndpointPtr mine = balancer.next(client(1), 0);
    CPPUNIT_ASSERT(balancer.bound_to(client(1), 10 * kSecond - 1)->address() == mine->target().address());
    CPPUNIT_ASSERT(!balancer.bound_to(client(1), 10 * kSecond));
    CPPUNIT_ASSERT(!balancer.bound_to(client(2), 0));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, balancer.affinity_clients());
    fail(balancer, mine, 0);
    std::size_t passed_over = 0;
    for (const Balancer::Candidate& one : balancer.candidates(0)) {
      CPPUNIT_ASSERT_EQUAL(one.target.address() == mine->target().address(), one.passed_over);
      passed_over += one.passed_over ? 1 : 0;
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, passed_over);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, balancer.candidates(kSecond).size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, balancer.passed_over(0));  // candidates() did not advance the time
  }

  // Threads read the clock before they take the lock, so time can appear to go back.
  void time_that_goes_back_is_harmless() {
    Balancer balancer(settings(), 5);
    balancer.set_endpoints(endpoints(3));
    balancer.set_affinity(10);
    const EndpointPtr mine = balancer.next(client(1), 20 * kSecond);
    CPPUNIT_ASSERT(balancer.next(client(1), 5 * kSecond) == mine);
    balancer.purge(5 * kSecond);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, balancer.affinity_clients());
    CPPUNIT_ASSERT(balancer.next(client(1), 30 * kSecond - 1) == mine);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(BalancerTest);

}  // namespace balancer_test
}  // namespace sluice::userspace
