// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/health/service_health_counts.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <utility>

namespace sluice::observe {
namespace service_health_counts_test {

enum State { ready_here, ready_elsewhere, terminating_here, ready_and_terminating_here };

store::Endpoint endpoint(const std::string& address, State state, std::uint16_t port = 80) {
  store::Endpoint out;
  out.address = lib::IpAddress::parse(address)->bytes();
  out.port = port;
  out.local = state != ready_elsewhere;
  out.ready = state != terminating_here;
  out.serving = true;
  out.terminating = state == terminating_here || state == ready_and_terminating_here;
  out.in_local = out.local;
  return out;
}

class ServiceHealthCountsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ServiceHealthCountsTest);
  CPPUNIT_TEST(addresses_count_once_over_all_ports);
  CPPUNIT_TEST(terminating_endpoints_count_only_when_ready);
  CPPUNIT_TEST(services_without_a_health_port_are_not_held);
  CPPUNIT_TEST(a_delta_for_one_port_keeps_the_other);
  CPPUNIT_TEST(only_changes_are_returned);
  CPPUNIT_TEST(a_deleted_service_has_port_0);
  CPPUNIT_TEST(a_service_that_loses_its_port_has_port_0);
  CPPUNIT_TEST(services_missing_in_a_full_transaction_are_removed);
  CPPUNIT_TEST(ports_close_before_others_open);
  CPPUNIT_TEST(a_changed_port_is_one_update);
  CPPUNIT_TEST_SUITE_END();

  ServiceHealthCounts counts_;

 public:
  using Endpoints = std::vector<store::Endpoint>;
  using Updates = std::vector<ServiceHealthUpdate>;

 private:
  static store::ServicePortKey key(const std::string& service, const std::string& port = "p80") {
    return {{base::Symbol("ns1"), service}, base::Symbol(port), model::Protocol::tcp};
  }

  static snapshot::ServicePortPtr port(store::ServicePortKey key, std::uint16_t health_port, Endpoints endpoints) {
    auto out = std::make_shared<store::ServicePort>();
    out->key = std::move(key);
    out->health_check_node_port = health_port;
    out->endpoints = std::move(endpoints);
    return out;
  }

  Updates apply(bool full, std::vector<snapshot::ServicePortPtr> ports,
                std::vector<store::ServicePortKey> removed = {}) {
    snapshot::Transaction transaction;
    transaction.full = full;
    transaction.service_ports = std::move(ports);
    transaction.removed = std::move(removed);
    return counts_.update(transaction);
  }

  void addresses_count_once_over_all_ports() {  // case 93
    const auto out = apply(true, {port(key("svc1", "p443"), 30000, {endpoint("10.0.0.1", ready_here, 443)}),
                                  port(key("svc1", "p80"), 30000,
                                       {endpoint("10.0.0.1", ready_here), endpoint("10.0.0.2", ready_here),
                                        endpoint("10.0.0.3", ready_elsewhere)})});
    CPPUNIT_ASSERT(out == Updates({{"ns1", "svc1", 30000, 2}}));
  }

  void terminating_endpoints_count_only_when_ready() {  // cases 40 and 41
    CPPUNIT_ASSERT(apply(true, {port(key("svc1"), 30000, {endpoint("10.0.0.1", terminating_here)})}) ==
                   Updates({{"ns1", "svc1", 30000, 0}}));
    CPPUNIT_ASSERT(apply(false, {port(key("svc1"), 30000, {endpoint("10.0.0.1", ready_and_terminating_here)})}) ==
                   Updates({{"ns1", "svc1", 30000, 1}}));
  }

  void services_without_a_health_port_are_not_held() {
    CPPUNIT_ASSERT(apply(true, {port(key("svc1"), 0, {endpoint("10.0.0.1", ready_here)})}).empty());
    CPPUNIT_ASSERT(apply(false, {port(key("svc2"), 0, {endpoint("10.0.0.1", ready_here)})}, {key("svc3")}).empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), counts_.service_count());
  }

  void a_delta_for_one_port_keeps_the_other() {
    apply(true, {port(key("svc1", "p443"), 30000, {endpoint("10.0.0.1", ready_here)}),
                 port(key("svc1", "p80"), 30000, {endpoint("10.0.0.2", ready_here)})});
    CPPUNIT_ASSERT(apply(false, {port(key("svc1", "p80"), 30000, {})}) == Updates({{"ns1", "svc1", 30000, 1}}));
    CPPUNIT_ASSERT(apply(false, {}, {key("svc1", "p443")}) == Updates({{"ns1", "svc1", 30000, 0}}));
  }

  void only_changes_are_returned() {
    const auto one = port(key("svc1"), 30000, {endpoint("10.0.0.1", ready_here)});
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), apply(true, {one}).size());
    CPPUNIT_ASSERT(apply(true, {one}).empty());
    CPPUNIT_ASSERT(apply(false, {port(key("svc1"), 30000, {endpoint("10.0.0.9", ready_here)})}).empty());
    CPPUNIT_ASSERT(apply(false, {}).empty());
  }

  void a_deleted_service_has_port_0() {
    apply(true, {port(key("svc1"), 30000, {endpoint("10.0.0.1", ready_here)})});
    CPPUNIT_ASSERT(apply(false, {}, {key("svc1")}) == Updates({{"ns1", "svc1", 0, 0}}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), counts_.service_count());
    CPPUNIT_ASSERT(apply(false, {}, {key("svc1")}).empty());
  }

  void a_service_that_loses_its_port_has_port_0() {
    apply(true, {port(key("svc1"), 30000, {endpoint("10.0.0.1", ready_here)})});
    CPPUNIT_ASSERT(apply(false, {port(key("svc1"), 0, {endpoint("10.0.0.1", ready_here)})}) ==
                   Updates({{"ns1", "svc1", 0, 0}}));
  }

  void services_missing_in_a_full_transaction_are_removed() {
    apply(true, {port(key("svc1"), 30000, {}), port(key("svc2"), 30001, {})});
    CPPUNIT_ASSERT(apply(true, {port(key("svc2"), 30001, {})}) == Updates({{"ns1", "svc1", 0, 0}}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), counts_.service_count());
  }

  void ports_close_before_others_open() {
    apply(true, {port(key("svc2"), 30000, {})});
    CPPUNIT_ASSERT(apply(false, {port(key("svc1"), 30000, {})}, {key("svc2")}) ==
                   Updates({{"ns1", "svc2", 0, 0}, {"ns1", "svc1", 30000, 0}}));
  }

  void a_changed_port_is_one_update() {  // case 114
    apply(true, {port(key("svc1"), 30000, {endpoint("10.0.0.1", ready_here)})});
    CPPUNIT_ASSERT(apply(false, {port(key("svc1"), 30001, {endpoint("10.0.0.1", ready_here)})}) ==
                   Updates({{"ns1", "svc1", 30001, 1}}));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ServiceHealthCountsTest);

}  // namespace service_health_counts_test
}  // namespace sluice::observe
