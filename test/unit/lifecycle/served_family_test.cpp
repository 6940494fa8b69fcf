// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Of several backends the one that serves counts, with all it has applied; who served before
// is told to the tracking of flows until it is gone.
#include "core/lifecycle/served_family.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/store/resolve.hpp"
#include "test/unit/store/fixtures.hpp"

namespace sluice::lifecycle {
namespace served_family_test {

using base::Family;

class ServedFamilyTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ServedFamilyTest);
  CPPUNIT_TEST(what_the_serving_one_applies_is_told_at_once);
  CPPUNIT_TEST(a_newcomer_counts_from_the_moment_it_serves);
  CPPUNIT_TEST(a_full_transaction_replaces_what_waited);
  CPPUNIT_TEST(who_served_says_nothing_more);
  CPPUNIT_TEST(relays_of_who_served_are_told_until_it_is_gone);
  CPPUNIT_TEST(udp_flows_are_over_once_the_last_relay_port_is_taken_back);
  CPPUNIT_TEST(it_is_told_who_serves_by_ipvs);
  CPPUNIT_TEST(before_the_end_flows_may_be_moved);
  CPPUNIT_TEST(who_never_served_leaves_nothing);
  CPPUNIT_TEST(what_an_earlier_process_left_counts_as_somebody_who_served);
  CPPUNIT_TEST_SUITE_END();

  static snapshot::Transaction transaction(const std::string& service, bool full) {
    store::SliceCache slices;
    slices.upsert(test::slice("slice1", {{"10.180.0.1"}}, service));
    auto object = test::service(service);
    object.ports[0].protocol = model::Protocol::udp;
    snapshot::Transaction out;
    out.full = full;
    out.node = std::make_shared<const snapshot::NodeFacts>();
    for (auto& port : store::resolve(object, Family::ipv4, slices, {"N", "a"})) {
      out.service_ports.push_back(std::make_shared<const store::ServicePort>(std::move(port)));
    }
    return out;
  }
  static plugin::RelayedPort relayed(std::uint16_t port) { return {"ns1", "cart", "http", {port}}; }

  // "full cart", "delta cart", "serves 8053", "none".
  std::string take() { return std::exchange(told_, {}); }
  void tell(const std::string& what) { told_ += (told_.empty() ? "" : ", ") + what; }

 public:
  void what_the_serving_one_applies_is_told_at_once() {
    family_.serve(1);
    CPPUNIT_ASSERT_EQUAL(std::string("none"), take());
    family_.applied(1, transaction("cart", true));
    CPPUNIT_ASSERT_EQUAL(std::string("health, full cart"), take());
    family_.applied(1, transaction("shop", false));
    CPPUNIT_ASSERT_EQUAL(std::string("health, delta shop"), take());
  }

  void a_newcomer_counts_from_the_moment_it_serves() {
    family_.serve(1);
    family_.applied(1, transaction("cart", true));
    take();
    family_.applied(2, transaction("cart", true));
    family_.applied(2, transaction("shop", false));
    CPPUNIT_ASSERT_EQUAL(std::string(), take());
    family_.serve(2);
    CPPUNIT_ASSERT_EQUAL(std::string("serves, health, full cart, health, delta shop"), take());
    family_.applied(2, transaction("last", false));
    CPPUNIT_ASSERT_EQUAL(std::string("health, delta last"), take());
  }

  void a_full_transaction_replaces_what_waited() {
    family_.applied(2, transaction("cart", true));
    family_.applied(2, transaction("shop", false));
    family_.applied(2, transaction("other", true));
    family_.serve(2);
    CPPUNIT_ASSERT_EQUAL(std::string("none, health, full other"), take());
  }

  void who_served_says_nothing_more() {
    family_.serve(1);
    family_.serve(2);
    take();
    family_.applied(1, transaction("cart", true));
    CPPUNIT_ASSERT_EQUAL(std::string(), take());
  }

  void relays_of_who_served_are_told_until_it_is_gone() {
    family_.serve(1);
    family_.relays(1, relayed(8053));
    take();
    family_.serve(2);
    CPPUNIT_ASSERT_EQUAL(std::string("serves 8053"), take());
    family_.gone(1);
    CPPUNIT_ASSERT_EQUAL(std::string("none"), take());
  }

  void udp_flows_are_over_once_the_last_relay_port_is_taken_back() {
    const plugin::RelayedPort none{"ns1", "cart", "http", {}};
    family_.serve(1);
    family_.relays(1, relayed(8053));
    family_.relays(1, {"ns1", "shop", "http", {8054}});
    take();
    family_.relays(1, none);  // during apply()
    family_.relays(1, relayed(8053));
    CPPUNIT_ASSERT_EQUAL(std::string(), take());
    family_.serve(2);
    CPPUNIT_ASSERT_EQUAL(std::string("serves 8053 8054"), take());
    family_.relays(1, none);
    CPPUNIT_ASSERT_EQUAL(std::string(), take());
    family_.relays(1, {"ns1", "shop", "http", {}});
    CPPUNIT_ASSERT_EQUAL(std::string("none"), take());
    family_.relays(1, none);
    family_.ending(1);
    family_.gone(1);
    CPPUNIT_ASSERT_EQUAL(std::string(), take());
  }

  void it_is_told_who_serves_by_ipvs() {
    family_.serve(1, true);
    take();
    family_.serve(2);
    CPPUNIT_ASSERT_EQUAL(std::string("serves by IPVS"), take());
    family_.serve(3);
    CPPUNIT_ASSERT_EQUAL(std::string("serves by IPVS"), take());
    family_.gone(1);
    CPPUNIT_ASSERT_EQUAL(std::string("serves"), take());
    family_.inherit(4, true);
    CPPUNIT_ASSERT_EQUAL(std::string("serves by IPVS"), take());
  }

  void before_the_end_flows_may_be_moved() {
    family_.serve(1);
    family_.relays(1, relayed(8053));
    family_.serve(2);
    take();
    family_.ending(1);
    CPPUNIT_ASSERT_EQUAL(std::string("none"), take());
    family_.applied(1, transaction("cart", true));
    family_.ending(1);
    family_.gone(1);
    CPPUNIT_ASSERT_EQUAL(std::string(), take());
  }

  void who_never_served_leaves_nothing() {
    family_.serve(1);
    take();
    family_.applied(2, transaction("cart", true));
    family_.relays(2, relayed(8053));
    family_.gone(2);
    CPPUNIT_ASSERT_EQUAL(std::string(), take());
    family_.serve(3);
    CPPUNIT_ASSERT_EQUAL(std::string("serves"), take());
  }

  void what_an_earlier_process_left_counts_as_somebody_who_served() {
    family_.serve(1);
    take();
    family_.inherit(2);
    CPPUNIT_ASSERT_EQUAL(std::string("serves"), take());
    family_.gone(2);
    CPPUNIT_ASSERT_EQUAL(std::string("none"), take());
  }

 private:
  std::string told_;
  ServedFamily family_{{.health = [this](const auto&, const auto&) { tell("health"); },
                        .flows =
                            [this](const conntrack::UdpChange& change) {
                              std::string text = change.full ? "full" : "delta";
                              for (const auto& [key, port] : change.ports) text += " " + key.service.name;
                              tell(text);
                            },
                        .predecessor =
                            [this](const conntrack::ConntrackReconciler::Predecessor& predecessor) {
                              std::string text = predecessor.serves ? "serves" : "none";
                              if (predecessor.kernel) text += " by IPVS";
                              for (const auto port : predecessor.relays) text += " " + std::to_string(port);
                              tell(text);
                            }}};
};

CPPUNIT_TEST_SUITE_REGISTRATION(ServedFamilyTest);

}  // namespace served_family_test
}  // namespace sluice::lifecycle
