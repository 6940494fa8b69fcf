// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Plans of a service port: BEH 1.2, 3.3, 7.2, 7.3.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plugins/nftables/model/plan.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"
#include "test/unit/common/world.hpp"
#include "test/unit/nftables/table_model.hpp"

namespace sluice::test {
namespace plan_test {

using namespace nftables;

constexpr abi::Family kV4 = abi::Family::kIpv4;

std::string text_of(abi::Family family, const std::vector<EndpointAddress>& list) {
  std::string text;
  for (const EndpointAddress& endpoint : list) text += " " + nftables::to_string(family, endpoint);
  return text;
}

class NftablesPlanTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesPlanTest);
  CPPUNIT_TEST(a_cluster_ip);
  CPPUNIT_TEST(every_kind_of_frontend);
  CPPUNIT_TEST(policy_local_outside);
  CPPUNIT_TEST(policy_local_inside);
  CPPUNIT_TEST(without_endpoints);
  CPPUNIT_TEST(elsewhere_only);
  CPPUNIT_TEST(an_address_twice_is_one_frontend);
  CPPUNIT_TEST(source_ranges);
  CPPUNIT_TEST(source_ranges_with_the_node_in_them);
  CPPUNIT_TEST(a_range_of_everything);
  CPPUNIT_TEST(ranges_of_a_service_without_load_balancer);
  CPPUNIT_TEST(affinity);
  CPPUNIT_TEST(hairpins_are_reachable_and_here);
  CPPUNIT_TEST(names_and_protocols);
  CPPUNIT_TEST(strange_addresses_are_served);
  CPPUNIT_TEST(too_many_endpoints_are_cut);
  CPPUNIT_TEST(a_kind_that_came_later_is_passed_over);
  CPPUNIT_TEST(ipv6);
  CPPUNIT_TEST_SUITE_END();

  struct Given {
    abi::Family family = kV4;
    std::string node_ip = "192.168.0.2";
    ServiceSpec service;
    Given() { service.endpoints = {{"10.180.0.1", 80, true}, {"10.180.2.1", 80, false}}; }
    ServicePlan plan() const {
      World world(family);
      return plan_service(family, *sdk::parse_address(node_ip, family), world.service(service));
    }
    // "172.30.0.41:80/tcp endpoints-2", one per line.
    std::string lines() const {
      std::string text;
      for (const FrontendPlan& frontend : plan().frontends) {
        text += nftables::to_string(family, frontend.key);
        if (frontend.service_class) text += " " + chain_name(*frontend.service_class);
        if (frontend.fallback == FrontendPlan::Fallback::kRejected) text += " rejected";
        if (frontend.fallback == FrontendPlan::Fallback::kDropped) text += " dropped";
        if (frontend.firewalled) text += " firewall";
        if (frontend.cluster_ip) text += " cluster-ip";
        text += "\n";
      }
      return text;
    }
    std::string allowed() const {
      std::string text;
      for (const abi::Prefix& range : plan().allowed) text += " " + sdk::to_string(range, family);
      return text;
    }
  };

  static Given with_all() {
    Given given;
    given.service.node_port = 30001;
    given.service.external_ips = {"192.168.99.11"};
    given.service.vips = {"1.2.3.4"};
    return given;
  }

  static void equal(const std::string& expected, const std::string& got) { CPPUNIT_ASSERT_EQUAL(expected, got); }

  void a_cluster_ip() {
    const Given given;
    equal("172.30.0.41:80/tcp endpoints-2 cluster-ip\n", given.lines());
    const ServicePlan plan = given.plan();
    equal("ns1/svc1:p80", plan.name);
    equal(" 10.180.0.1:80 10.180.2.1:80", text_of(kV4, plan.cluster));
    equal("", text_of(kV4, plan.local));
    CPPUNIT_ASSERT(plan.problems.empty() && plan.allowed.empty());
  }

  void a_kind_that_came_later_is_passed_over() {
    World world(kV4);
    abi::ServicePort port = world.service(Given().service);
    auto frontends = sdk::frontends_of(port, abi::FrontendKind::kClusterIp);
    frontends.push_back(frontends.front());
    frontends.back().kind = static_cast<abi::FrontendKind>(9);
    frontends.back().address.bytes[3] = 99;
    port.frontends = sdk::array(frontends.data(), frontends.size());
    const ServicePlan plan = plan_service(kV4, *sdk::parse_address("192.168.0.2", kV4), port);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, plan.frontends.size());
    CPPUNIT_ASSERT(plan.frontends[0].cluster_ip);
  }

  void every_kind_of_frontend() {
    equal("172.30.0.41:80/tcp endpoints-2 cluster-ip\n192.168.99.11:80/tcp external-2\n1.2.3.4:80/tcp external-2\n"
          ":30001/tcp nodeport-external-2\n",
          with_all().lines());
  }

  void policy_local_outside() {
    Given given = with_all();
    given.service.external_local = true;
    equal("172.30.0.41:80/tcp endpoints-2 cluster-ip\n192.168.99.11:80/tcp external-local-2-1\n"
          "1.2.3.4:80/tcp external-local-2-1\n:30001/tcp nodeport-external-local-2-1\n",
          given.lines());
    equal(" 10.180.0.1:80", text_of(kV4, given.plan().local));
  }

  void policy_local_inside() {
    Given given;
    given.service.internal_local = true;
    equal("172.30.0.41:80/tcp local-endpoints-1 cluster-ip\n", given.lines());
    equal("", text_of(kV4, given.plan().cluster));
    given = with_all();
    given.service.internal_local = true;
    equal("172.30.0.41:80/tcp local-endpoints-1 cluster-ip\n192.168.99.11:80/tcp external-2\n"
          "1.2.3.4:80/tcp external-2\n:30001/tcp nodeport-external-2\n",
          given.lines());
  }

  void without_endpoints() {
    for (const bool local : {false, true}) {
      Given given = with_all();
      given.service.endpoints = {{"10.180.0.1", 80, true, Condition::kGone}};
      given.service.external_local = given.service.internal_local = local;
      given.service.source_ranges = {"10.0.0.0/8"};
      equal("172.30.0.41:80/tcp rejected cluster-ip\n192.168.99.11:80/tcp rejected\n1.2.3.4:80/tcp rejected firewall\n"
            ":30001/tcp rejected\n",
            given.lines());
    }
  }

  void elsewhere_only() {
    Given given = with_all();
    given.service.endpoints = {{"10.180.2.1", 80, false}};
    given.service.external_local = given.service.internal_local = true;
    equal("172.30.0.41:80/tcp dropped cluster-ip\n192.168.99.11:80/tcp external-local-1-0 dropped\n"
          "1.2.3.4:80/tcp external-local-1-0 dropped\n:30001/tcp nodeport-external-local-1-0 dropped\n",
          given.lines());
    CPPUNIT_ASSERT(given.plan().hairpin.empty());
  }

  void an_address_twice_is_one_frontend() {
    Given given = with_all();
    given.service.external_ips = {"1.2.3.4", "172.30.0.41", "1.2.3.4"};
    given.service.source_ranges = {"10.0.0.0/8"};
    equal("172.30.0.41:80/tcp endpoints-2 cluster-ip\n1.2.3.4:80/tcp external-2 firewall\n"
          ":30001/tcp nodeport-external-2\n",
          given.lines());
  }

  void source_ranges() {
    Given given = with_all();
    given.service.source_ranges = {"203.0.113.0/25", "10.1.0.0/16", "10.0.0.0/8", "203.0.113.0/25"};
    equal(" 10.0.0.0/8 203.0.113.0/25", given.allowed());
  }

  void source_ranges_with_the_node_in_them() {
    Given given = with_all();
    given.service.vips = {"1.2.3.5", "1.2.3.4"};
    given.service.source_ranges = {"192.168.0.0/24", "203.0.113.0/25"};
    equal(" 1.2.3.4/32 1.2.3.5/32 192.168.0.0/24 203.0.113.0/25", given.allowed());
    given.node_ip = "192.168.1.2";
    equal(" 192.168.0.0/24 203.0.113.0/25", given.allowed());
  }

  void a_range_of_everything() {
    Given given = with_all();
    given.service.source_ranges = {"10.0.0.0/8", "0.0.0.0/0"};
    equal("", given.allowed());
    CPPUNIT_ASSERT(given.lines().find("firewall") == std::string::npos);
  }

  void ranges_of_a_service_without_load_balancer() {
    Given given = with_all();
    given.service.vips = {};
    given.service.source_ranges = {"10.0.0.0/8"};
    equal("", given.allowed());
    CPPUNIT_ASSERT(given.lines().find("firewall") == std::string::npos);
  }

  void affinity() {
    Given given = with_all();
    given.service.affinity_seconds = 10800;
    given.service.external_local = true;
    equal("172.30.0.41:80/tcp sticky-10800-endpoints-2 cluster-ip\n192.168.99.11:80/tcp sticky-10800-external-local-2-1\n"
          "1.2.3.4:80/tcp sticky-10800-external-local-2-1\n:30001/tcp nodeport-sticky-10800-external-local-2-1\n",
          given.lines());
  }

  void hairpins_are_reachable_and_here() {
    Given given;
    given.service.endpoints = {{"10.180.0.1", 80, true}, {"10.180.0.2", 80, true, Condition::kTerminating},
                               {"10.180.2.1", 80, false}};
    equal(" 10.180.0.1:80", text_of(kV4, given.plan().hairpin));
    given.service.endpoints = {{"10.180.0.2", 80, true, Condition::kTerminating}, {"10.180.2.1", 80, false}};
    given.service.external_ips = {"1.2.3.4"};
    equal("", text_of(kV4, given.plan().hairpin));
    given.service.external_local = true;
    equal(" 10.180.0.2:80", text_of(kV4, given.plan().hairpin));
  }

  void names_and_protocols() {
    for (const std::string name : {"a b", "a\"b", "a\nb", "a/b"}) {
      Given given;
      given.service.name = name;
      CPPUNIT_ASSERT_THROW(given.plan(), sdk::Failure);
    }
    Given given;
    given.service.protocol = static_cast<abi::Protocol>(33);
    CPPUNIT_ASSERT_THROW(given.plan(), sdk::Failure);
  }

  void strange_addresses_are_served() {
    Given given;
    given.service.external_ips = {"0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255"};
    const ServicePlan plan = given.plan();
    CPPUNIT_ASSERT_EQUAL(std::size_t{5}, plan.frontends.size());
    CPPUNIT_ASSERT(plan.problems.empty());
  }

  void too_many_endpoints_are_cut() {
    Given given = with_all();
    given.service.external_local = true;
    given.service.endpoints.clear();
    for (unsigned i = 0; i < 66000; ++i) {
      given.service.endpoints.push_back(
          {"10.0." + std::to_string(i / 256 % 256) + "." + std::to_string(i % 256),
           static_cast<std::uint16_t>(80 + i / 65536), i >= 65000});
    }
    const ServicePlan plan = given.plan();
    CPPUNIT_ASSERT_EQUAL(std::size_t{65535}, plan.cluster.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1000}, plan.local.size());
    CPPUNIT_ASSERT(std::includes(plan.cluster.begin(), plan.cluster.end(), plan.local.begin(), plan.local.end()));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, plan.problems.size());
    equal("it has 66000 endpoints and 65535 can be served: the others get no connections; divide them among several Services",
          plan.problems.front());
    CPPUNIT_ASSERT(given.lines().find("external-local-65535-1000") != std::string::npos);
  }

  void ipv6() {
    Given given;
    given.family = abi::Family::kIpv6;
    given.node_ip = "fd00:9::2";
    given.service.cluster_ip = "fd00:30::41";
    given.service.vips = {"2001:db8::5"};
    given.service.source_ranges = {"fd00:9::/64"};
    given.service.endpoints = {{"fd00:1::1", 80, true}};
    equal("[fd00:30::41]:80/tcp endpoints-1 cluster-ip\n[2001:db8::5]:80/tcp external-1 firewall\n", given.lines());
    equal(" 2001:db8::5/128 fd00:9::/64", given.allowed());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesPlanTest);

}  // namespace plan_test
}  // namespace sluice::test
