// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Only the active backend counts, with all transactions it has applied; old backends are
// reported to the conntrack reconciler until they are gone.
#include "core/lifecycle/served_family.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/store/resolve.hpp"
#include "test/unit/store/fixtures.hpp"

namespace sluice::lifecycle {
namespace served_family_test {

using lib::Family;

class ServedFamilyTest : public CppUnit::TestFixture, public ServedFamilyObserver {
  CPPUNIT_TEST_SUITE(ServedFamilyTest);
  CPPUNIT_TEST(transactions_of_the_active_backend_are_reported_at_once);
  CPPUNIT_TEST(health_is_reported_only_with_a_change);
  CPPUNIT_TEST(writes_of_the_active_backend_are_reported_to_their_end);
  CPPUNIT_TEST(a_new_backend_counts_from_when_it_serves);
  CPPUNIT_TEST(a_full_transaction_replaces_waiting_ones);
  CPPUNIT_TEST(transactions_of_an_old_backend_are_ignored);
  CPPUNIT_TEST(relay_ports_of_an_old_backend_are_reported_until_it_is_gone);
  CPPUNIT_TEST(udp_flows_end_when_the_last_relay_port_is_withdrawn);
  CPPUNIT_TEST(old_backends_that_serve_by_ipvs_are_reported);
  CPPUNIT_TEST(before_the_end_of_the_drain_flows_may_be_moved);
  CPPUNIT_TEST(a_backend_that_never_served_is_not_reported);
  CPPUNIT_TEST(leftover_state_of_an_earlier_process_counts_as_an_old_backend);
  CPPUNIT_TEST_SUITE_END();

  static snapshot::Transaction transaction(const std::string& service, bool full) {
    return transaction_of(service, full, 0);
  }
  static snapshot::Transaction with_health_port(const std::string& service, bool full) {
    return transaction_of(service, full, 30100);
  }
  static snapshot::Transaction transaction_of(const std::string& service, bool full, std::uint16_t health_port) {
    store::SliceCache slices;
    slices.upsert(test::slice("slice1", {{"10.180.0.1"}}, service));
    auto object = test::service(service);
    object.ports[0].protocol = model::Protocol::udp;
    if (health_port != 0) {
      object.type = model::ServiceType::load_balancer;
      object.external_local = true;
      object.health_check_node_port = health_port;
    }
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
  std::string take() { return std::exchange(reports_, {}); }
  void report(const std::string& what) { reports_ += (reports_.empty() ? "" : ", ") + what; }

 public:
  void transactions_of_the_active_backend_are_reported_at_once() {
    family_.serve(1);
    CPPUNIT_ASSERT_EQUAL(std::string("none"), take());
    family_.applied(1, transaction("cart", true));
    CPPUNIT_ASSERT_EQUAL(std::string("health, full cart"), take());
    family_.applied(1, transaction("shop", false));
    CPPUNIT_ASSERT_EQUAL(std::string("health, delta shop"), take());
  }

  void health_is_reported_only_with_a_change() {
    family_.serve(1);
    const auto first = transaction("cart", true);
    family_.applied(1, first);
    take();
    auto same_node = transaction("shop", false);
    same_node.node = first.node;
    family_.applied(1, same_node);
    CPPUNIT_ASSERT_EQUAL(std::string("delta shop"), take());
    auto with_port = with_health_port("shop", false);
    with_port.node = first.node;
    family_.applied(1, with_port);
    CPPUNIT_ASSERT_EQUAL(std::string("health, delta shop"), take());
    family_.applied(1, transaction("shop", false));  // other facts about the node
    CPPUNIT_ASSERT_EQUAL(std::string("health, delta shop"), take());
  }

  void writes_of_the_active_backend_are_reported_to_their_end() {
    family_.serve(1);
    take();
    family_.writing(2, true);
    family_.writing(2, false);
    CPPUNIT_ASSERT_EQUAL(std::string(), take());
    family_.writing(1, true);
    family_.serve(2);  // another backend replaces it during the write
    CPPUNIT_ASSERT_EQUAL(std::string("writes, serves"), take());
    family_.writing(1, false);
    CPPUNIT_ASSERT_EQUAL(std::string("has written"), take());
  }

  void a_new_backend_counts_from_when_it_serves() {
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

  void a_full_transaction_replaces_waiting_ones() {
    family_.applied(2, transaction("cart", true));
    family_.applied(2, transaction("shop", false));
    family_.applied(2, transaction("other", true));
    family_.serve(2);
    CPPUNIT_ASSERT_EQUAL(std::string("none, health, full other"), take());
  }

  void transactions_of_an_old_backend_are_ignored() {
    family_.serve(1);
    family_.serve(2);
    take();
    family_.applied(1, transaction("cart", true));
    CPPUNIT_ASSERT_EQUAL(std::string(), take());
  }

  void relay_ports_of_an_old_backend_are_reported_until_it_is_gone() {
    family_.serve(1);
    family_.relays(1, relayed(8053));
    take();
    family_.serve(2);
    CPPUNIT_ASSERT_EQUAL(std::string("serves 8053"), take());
    family_.gone(1);
    CPPUNIT_ASSERT_EQUAL(std::string("none"), take());
  }

  void udp_flows_end_when_the_last_relay_port_is_withdrawn() {
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

  void old_backends_that_serve_by_ipvs_are_reported() {
    family_.serve(1, true);
    take();
    family_.serve(2);
    CPPUNIT_ASSERT_EQUAL(std::string("serves by IPVS"), take());
    family_.serve(3);
    CPPUNIT_ASSERT_EQUAL(std::string("serves by IPVS"), take());
    family_.gone(1);
    CPPUNIT_ASSERT_EQUAL(std::string("serves"), take());
    family_.add_leftover(4, true);
    CPPUNIT_ASSERT_EQUAL(std::string("serves by IPVS"), take());
  }

  void before_the_end_of_the_drain_flows_may_be_moved() {
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

  void a_backend_that_never_served_is_not_reported() {
    family_.serve(1);
    take();
    family_.applied(2, transaction("cart", true));
    family_.relays(2, relayed(8053));
    family_.gone(2);
    CPPUNIT_ASSERT_EQUAL(std::string(), take());
    family_.serve(3);
    CPPUNIT_ASSERT_EQUAL(std::string("serves"), take());
  }

  void leftover_state_of_an_earlier_process_counts_as_an_old_backend() {
    family_.serve(1);
    take();
    family_.add_leftover(2);
    CPPUNIT_ASSERT_EQUAL(std::string("serves"), take());
    family_.gone(2);
    CPPUNIT_ASSERT_EQUAL(std::string("none"), take());
  }

 private:
  // ServedFamilyObserver
  void health(HealthChanged) override { report("health"); }
  void flows(conntrack::UdpChange change) override {
    std::string text = change.full ? "full" : "delta";
    for (const auto& [key, port] : change.ports) text += " " + key.service.name;
    report(text);
  }
  void writing(bool begins) override { report(begins ? "writes" : "has written"); }
  void old_backends(conntrack::OldBackends statement) override {
    std::string text = statement.serve ? "serves" : "none";
    if (statement.ipvs) text += " by IPVS";
    for (const auto port : statement.relay_ports) text += " " + std::to_string(port);
    report(text);
  }

  std::string reports_;
  ServedFamily family_{*this};
};

CPPUNIT_TEST_SUITE_REGISTRATION(ServedFamilyTest);

}  // namespace served_family_test
}  // namespace sluice::lifecycle
