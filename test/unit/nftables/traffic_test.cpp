// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Packets and bytes per Service: the owner of a frontend, and the metrics of deleted Services.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/nftables/backend_rig.hpp"

namespace sluice::test {
namespace traffic_test {

using nftables::SetId;

class NftablesTrafficTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesTrafficTest);
  CPPUNIT_TEST(traffic_is_reported_per_service);
  CPPUNIT_TEST(traffic_belongs_to_the_current_owner);
  CPPUNIT_TEST(traffic_of_a_deleted_service_is_reset);
  CPPUNIT_TEST(missing_elements_of_a_dump_are_not_counted_twice);
  CPPUNIT_TEST(without_counters_nothing_is_counted);
  CPPUNIT_TEST_SUITE_END();

  // A backend with counters, and the counters of the kernel.
  struct Counted {
    void set(const std::string& address, std::uint64_t packets) {
      set_key({false, *sdk::parse_address(address, abi::Family::kIpv4), abi::Protocol::kTcp, 80}, packets);
    }
    void set_node_port(std::uint16_t port, std::uint64_t packets) {
      set_key({true, {}, abi::Protocol::kTcp, port}, packets);
    }
    void gone(const std::string& address) {
      const auto parsed = *sdk::parse_address(address, abi::Family::kIpv4);
      rig.table.counts.erase(nftables::frontend_key(abi::Family::kIpv4, {false, parsed, abi::Protocol::kTcp, 80}));
    }
    double reported(const std::string& service, const std::string& what = "packets") const {
      return rig.metric("sluice_nftables_service_" + what + "_total", "service=\"" + service + "\",");
    }
    void set_key(const nftables::FrontendKey& key, std::uint64_t packets) {
      rig.table.counts[nftables::frontend_key(abi::Family::kIpv4, key)] = {key, packets, packets * 100};
    }
    NftablesRig rig{abi::Family::kIpv4, {{"counters", "true"}}};
  };

  static ServiceSpec service(const std::string& name, const std::string& address) {
    ServiceSpec made;
    made.name = name;
    made.cluster_ip = address;
    made.endpoints = {{"10.180.0.1", 80, true}, {"10.180.2.1", 80, false}};
    return made;
  }

  void traffic_is_reported_per_service() {
    Counted counted;
    NftablesRig& rig = counted.rig;
    ServiceSpec one = service("svc1", "172.30.0.41");
    one.node_port = 30001;
    ok(rig, rig.full({one}));
    CPPUNIT_ASSERT(std::vector<std::string>{"172.30.0.41:80/tcp"} == rig.table.frontends(SetId::kServiceTraffic));
    counted.set("172.30.0.41", 5);
    counted.set_node_port(30001, 2);
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(7.0, counted.reported("ns1/svc1"));
    CPPUNIT_ASSERT_EQUAL(700.0, counted.reported("ns1/svc1", "bytes"));
    counted.set("172.30.0.41", 6);
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(8.0, counted.reported("ns1/svc1"));
    counted.set("172.30.0.41", 1);  // reset
    ok(rig, rig.delta({one}));
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(9.0, counted.reported("ns1/svc1"));
    ok(rig, rig.full({one}));
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(9.0, counted.reported("ns1/svc1"));
  }

  void traffic_belongs_to_the_current_owner() {
    Counted counted;
    NftablesRig& rig = counted.rig;
    ServiceSpec a = service("a", "172.30.0.1"), b = service("b", "172.30.0.2");
    a.external_ips = {"1.2.3.4"};
    ok(rig, rig.full({a, b}));
    counted.set("1.2.3.4", 5);
    counted.set("172.30.0.1", 1);
    counted.set("172.30.0.9", 50);  // no service port has it
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(6.0, counted.reported("ns1/a"));
    CPPUNIT_ASSERT_EQUAL(-1.0, counted.reported("ns1/b"));
    std::swap(a.external_ips, b.external_ips);
    ok(rig, rig.delta({a, b}));
    counted.set("1.2.3.4", 7);
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(6.0, counted.reported("ns1/a"));
    CPPUNIT_ASSERT_EQUAL(2.0, counted.reported("ns1/b"));
  }

  void traffic_of_a_deleted_service_is_reset() {
    Counted counted;
    NftablesRig& rig = counted.rig;
    const ServiceSpec a = service("a", "172.30.0.1"), b = service("b", "172.30.0.2");
    ok(rig, rig.full({a, b}));
    counted.set("172.30.0.1", 5);
    counted.set("172.30.0.2", 4);
    ok(rig.verify());
    ok(rig, rig.delta({}, {a}));
    counted.gone("172.30.0.1");
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(0.0, counted.reported("ns1/a"));
    CPPUNIT_ASSERT_EQUAL(0.0, counted.reported("ns1/a", "bytes"));
    CPPUNIT_ASSERT_EQUAL(4.0, counted.reported("ns1/b"));
    // Another Service of the same name.
    ok(rig, rig.delta({a}));
    counted.set("172.30.0.1", 6);
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(6.0, counted.reported("ns1/a"));
    ok(rig, rig.full({b}));
    counted.gone("172.30.0.1");
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(0.0, counted.reported("ns1/a"));
    CPPUNIT_ASSERT_EQUAL(4.0, counted.reported("ns1/b"));
  }

  void missing_elements_of_a_dump_are_not_counted_twice() {
    Counted counted;
    NftablesRig& rig = counted.rig;
    ok(rig, rig.full({service("a", "172.30.0.1")}));
    counted.set("172.30.0.1", 5);
    ok(rig.verify());
    counted.gone("172.30.0.1");
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(5.0, counted.reported("ns1/a"));
    counted.set("172.30.0.1", 6);
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(6.0, counted.reported("ns1/a"));
  }

  void without_counters_nothing_is_counted() {
    NftablesRig rig;
    ok(rig, rig.full({service("a", "172.30.0.1")}));
    CPPUNIT_ASSERT(rig.table.frontends(SetId::kServiceTraffic).empty());
    ok(rig.verify());
    for (const auto& [name, value] : rig.host.metrics) CPPUNIT_ASSERT_MESSAGE(name, !has(name, "service="));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesTrafficTest);

}  // namespace traffic_test
}  // namespace sluice::test
