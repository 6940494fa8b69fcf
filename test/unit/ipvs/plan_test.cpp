// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Plans of one service port: BEH 6.3 to 6.7, 6.9 and cases 116 to 123.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sluice/sdk/error.hpp"
#include "sluice/sdk/service.hpp"
#include "test/unit/common/world.hpp"
#include "test/unit/ipvs/plan_text.hpp"

namespace sluice::test {
namespace plan_test {

using Lines = std::vector<std::string>;

class IpvsPlanTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(IpvsPlanTest);
  CPPUNIT_TEST(the_worked_example);
  CPPUNIT_TEST(ipv6);
  CPPUNIT_TEST(unusable_addresses_in_ipv6);
  CPPUNIT_TEST(external_ips_by_policy);
  CPPUNIT_TEST(an_external_ip_of_the_node_is_not_bound);
  CPPUNIT_TEST(an_address_named_twice_is_served_once);
  CPPUNIT_TEST(unusable_addresses_are_not_programmed);
  CPPUNIT_TEST(load_balancer_without_ranges);
  CPPUNIT_TEST(load_balancer_with_ranges);
  CPPUNIT_TEST(a_range_with_the_node_in_it);
  CPPUNIT_TEST(a_range_of_everything_is_two_halves);
  CPPUNIT_TEST(node_ports_of_each_protocol);
  CPPUNIT_TEST(node_ports_on_every_address);
  CPPUNIT_TEST(node_ports_on_chosen_addresses);
  CPPUNIT_TEST(without_node_addresses_the_rest_is_omitted);
  CPPUNIT_TEST(local_policy_falls_back_to_the_cluster);
  CPPUNIT_TEST(internal_local_without_local_endpoints);
  CPPUNIT_TEST(hairpin_for_local_endpoints_in_any_state);
  CPPUNIT_TEST(without_endpoints_servers_are_empty);
  CPPUNIT_TEST(affinity_and_schedulers);
  CPPUNIT_TEST(missing_local_endpoints_are_flagged);
  CPPUNIT_TEST(frontends_of_a_policy_share_a_list);
  CPPUNIT_TEST(invalid_names_are_rejected);
  CPPUNIT_TEST(unknown_frontend_kinds_are_ignored);
  CPPUNIT_TEST(facts_omit_link_local_addresses);
  CPPUNIT_TEST_SUITE_END();

  static constexpr abi::Family kFamily = abi::Family::kIpv4;

  struct Given {
    abi::Family family = kFamily;
    NodeSpec node;
    ipvs::Settings settings;
    ServiceSpec service;

    Given() {
      node.local_addresses = {"127.0.0.1", "192.168.0.2"};
      service.endpoints = {{"10.180.0.1", 80, true}, {"10.180.2.1", 80, false}};
    }
    ipvs::ServicePlan plan() const {
      World world(family);
      const ipvs::PlanFacts facts = ipvs::plan_facts(family, world.node(node), settings);
      return ipvs::plan_service(facts, world.service(service));
    }
    Lines lines() const { return lines_of(plan(), family); }
  };

  static std::string joined(const Lines& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  }
  static void equal(const Lines& expected, const Lines& got) { CPPUNIT_ASSERT_EQUAL(joined(expected), joined(got)); }
  static Lines only(const Lines& lines, const std::string& beginning) {
    Lines out;
    for (const std::string& line : lines) {
      if (line.starts_with(beginning)) out.push_back(line);
    }
    return out;
  }

  void unknown_frontend_kinds_are_ignored() {
    const Given given;
    World world(kFamily);
    abi::ServicePort port = world.service(given.service);
    auto frontends = sdk::frontends_of(port, abi::FrontendKind::kClusterIp);
    frontends.push_back(frontends.front());
    frontends.back().kind = static_cast<abi::FrontendKind>(9);
    frontends.back().address.bytes[3] = 99;
    port.frontends = sdk::array(frontends.data(), frontends.size());
    const auto plan = ipvs::plan_service(ipvs::plan_facts(kFamily, world.node(given.node), given.settings), port);
    equal(given.lines(), lines_of(plan, kFamily));
  }

  void the_worked_example() {
    Given given;
    given.service.node_port = 30001;
    given.service.external_local = true;
    equal({"server 172.30.0.41:80/TCP rr -> 10.180.0.1:80 10.180.2.1:80",
           "server 192.168.0.2:30001/TCP rr -> 10.180.0.1:80", "set KUBE-LOOP-BACK 10.180.0.1,tcp:80,10.180.0.1",
           "set KUBE-CLUSTER-IP 172.30.0.41,tcp:80", "set KUBE-NODE-PORT-TCP 30001",
           "set KUBE-NODE-PORT-LOCAL-TCP 30001", "set KUBE-IPVS-IPS 172.30.0.41", "bind 172.30.0.41"},
          given.lines());
  }

  static Given given_ipv6() {
    Given given;
    given.family = abi::Family::kIpv6;
    given.node.ip = "fd00:9::2";
    given.node.detector_cidr = "fd00:1::/64";
    given.node.local_addresses = {"::1", "fd00:9::2", "fe80::1"};
    given.service.cluster_ip = "fd00:30::41";
    return given;
  }

  void ipv6() {
    Given given = given_ipv6();
    given.service.node_port = 30001;
    given.service.vips = {"2001:db8::5"};
    given.service.source_ranges = {"2001:db8:1::/48"};
    given.service.endpoints = {{"fd00:1::1", 80, true}};
    equal({"server [fd00:30::41]:80/TCP rr -> [fd00:1::1]:80", "server [2001:db8::5]:80/TCP rr -> [fd00:1::1]:80",
           "server [fd00:9::2]:30001/TCP rr -> [fd00:1::1]:80", "set KUBE-6-LOOP-BACK fd00:1::1,tcp:80,fd00:1::1",
           "set KUBE-6-CLUSTER-IP fd00:30::41,tcp:80", "set KUBE-6-LOAD-BALANCER 2001:db8::5,tcp:80",
           "set KUBE-6-LOAD-BALANCER-FW 2001:db8::5,tcp:80",
           "set KUBE-6-LOAD-BALANCER-SOURCE-CID 2001:db8::5,tcp:80,2001:db8:1::/48", "set KUBE-6-NODE-PORT-TCP 30001",
           "set KUBE-6-IPVS-IPS 2001:db8::5", "set KUBE-6-IPVS-IPS fd00:30::41", "bind fd00:30::41", "bind 2001:db8::5",
           "closed [2001:db8::5]:80/TCP"},
          given.lines());
  }

  void unusable_addresses_in_ipv6() {
    Given given = given_ipv6();
    given.service.endpoints = {{"fd00:1::1", 80, true}};
    const Lines good = given.lines();
    given.service.external_ips = {"::", "::1"};
    given.service.vips = {"ff02::1", "ff0e::5"};
    Lines expected = good;
    for (const std::string problem :
         {"external IP :: is the unspecified address", "external IP ::1 is a loopback address",
          "load balancer IP ff02::1 is a multicast address", "load balancer IP ff0e::5 is a multicast address"}) {
      expected.push_back("problem " + problem +
                         ", which cannot be served: it is not programmed; give the Service another one");
    }
    equal(expected, given.lines());
    given.service.external_ips = {"fe80::7", "::2", "fec0::1"};
    given.service.vips = {"7f00::1", "e000::1"};
    CPPUNIT_ASSERT_EQUAL(std::size_t{6}, given.plan().addresses.size());
    CPPUNIT_ASSERT(given.plan().problems.empty());
  }

  void external_ips_by_policy() {
    Given given;
    given.service.external_ips = {"192.168.99.11"};
    const Lines cluster = given.lines();
    equal({"set KUBE-EXTERNAL-IP 192.168.99.11,tcp:80"}, only(cluster, "set KUBE-EXTERNAL"));
    equal({"server 192.168.99.11:80/TCP rr -> 10.180.0.1:80 10.180.2.1:80"}, only(cluster, "server 192"));
    given.service.external_local = true;
    const Lines local = given.lines();
    equal({"set KUBE-EXTERNAL-IP-LOCAL 192.168.99.11,tcp:80"}, only(local, "set KUBE-EXTERNAL"));
    equal({"server 192.168.99.11:80/TCP rr -> 10.180.0.1:80"}, only(local, "server 192"));
    equal({"bind 172.30.0.41", "bind 192.168.99.11"}, only(local, "bind"));
  }

  void an_external_ip_of_the_node_is_not_bound() {
    Given given;
    given.service.external_ips = {"192.168.0.2"};
    given.service.vips = {"192.168.0.2"};
    const Lines lines = given.lines();
    equal({"server 192.168.0.2:80/TCP rr -> 10.180.0.1:80 10.180.2.1:80"}, only(lines, "server 192"));
    equal({"bind 172.30.0.41"}, only(lines, "bind"));
    equal({"set KUBE-IPVS-IPS 172.30.0.41"}, only(lines, "set KUBE-IPVS-IPS"));
    equal({"set KUBE-EXTERNAL-IP 192.168.0.2,tcp:80"}, only(lines, "set KUBE-EXTERNAL-IP "));
    // The cluster IP is always bound.
    given.node.local_addresses = {"172.30.0.41", "192.168.0.2"};
    equal({"bind 172.30.0.41"}, only(given.lines(), "bind"));
  }

  void an_address_named_twice_is_served_once() {
    Given given;
    given.service.external_ips = {"192.168.99.11", "192.168.99.11"};
    given.service.vips = {"192.168.99.11"};
    const Lines lines = given.lines();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, only(lines, "server 192.168.99.11").size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, only(lines, "bind 192.168.99.11").size());
    equal({"set KUBE-EXTERNAL-IP 192.168.99.11,tcp:80"}, only(lines, "set KUBE-EXTERNAL-IP "));
    equal({"set KUBE-LOAD-BALANCER 192.168.99.11,tcp:80"}, only(lines, "set KUBE-LOAD-BALANCER "));
  }

  void unusable_addresses_are_not_programmed() {
    Given given;
    given.service.vips = {"1.2.3.4"};
    given.service.node_port = 30001;
    const Lines good = given.lines();
    const auto with = [](Lines lines, const Lines& problems) {
      for (const std::string& problem : problems) {
        lines.push_back("problem " + problem + ", which cannot be served: it is not programmed; give the Service another one");
      }
      return lines;
    };
    given.service.external_ips = {"0.0.0.0", "127.0.0.1", "127.9.9.9"};
    given.service.vips = {"224.0.0.1", "1.2.3.4", "239.255.255.255", "255.255.255.255", "0.0.0.0"};
    given.service.source_ranges = {};
    equal(with(good, {"external IP 0.0.0.0 is the unspecified address", "external IP 127.0.0.1 is a loopback address",
                      "external IP 127.9.9.9 is a loopback address", "load balancer IP 224.0.0.1 is a multicast address",
                      "load balancer IP 239.255.255.255 is a multicast address",
                      "load balancer IP 255.255.255.255 is the broadcast address",
                      "load balancer IP 0.0.0.0 is the unspecified address"}),
          given.lines());
    given.service.cluster_ip = "0.0.0.0";
    equal({"problem cluster IP 0.0.0.0 is the unspecified address, which cannot be served: it is not programmed; give the "
           "Service another one"},
          only(given.lines(), "problem cluster"));
    // Unusual addresses that can be served.
    given = Given();
    given.service.external_ips = {"169.254.1.1", "0.0.0.1", "223.255.255.255", "240.0.0.1", "255.255.255.254"};
    CPPUNIT_ASSERT_EQUAL(std::size_t{6}, given.plan().addresses.size());
    CPPUNIT_ASSERT(given.plan().problems.empty());
  }

  void load_balancer_without_ranges() {
    Given given;
    given.service.vips = {"1.2.3.4"};
    equal({"set KUBE-LOAD-BALANCER 1.2.3.4,tcp:80"}, only(given.lines(), "set KUBE-LOAD"));
    given.service.external_local = true;
    given.service.health_check_node_port = 30000;
    const Lines lines = given.lines();
    equal({"set KUBE-LOAD-BALANCER 1.2.3.4,tcp:80", "set KUBE-LOAD-BALANCER-LOCAL 1.2.3.4,tcp:80"},
          only(lines, "set KUBE-LOAD"));
    equal({"set KUBE-HEALTH-CHECK-NODE-PORT 30000"}, only(lines, "set KUBE-HEALTH"));
    equal({}, only(lines, "closed"));
  }

  void load_balancer_with_ranges() {
    Given given;
    given.service.vips = {"1.2.3.4"};
    given.service.source_ranges = {"203.0.113.0/25", "10.1.2.3/32"};
    const Lines lines = given.lines();
    equal({"set KUBE-LOAD-BALANCER 1.2.3.4,tcp:80", "set KUBE-LOAD-BALANCER-FW 1.2.3.4,tcp:80",
           "set KUBE-LOAD-BALANCER-SOURCE-CIDR 1.2.3.4,tcp:80,10.1.2.3",
           "set KUBE-LOAD-BALANCER-SOURCE-CIDR 1.2.3.4,tcp:80,203.0.113.0/25"},
          only(lines, "set KUBE-LOAD"));
    equal({"closed 1.2.3.4:80/TCP"}, only(lines, "closed"));
  }

  void a_range_with_the_node_in_it() {
    Given given;
    given.service.vips = {"1.2.3.4"};
    given.service.source_ranges = {"203.0.113.0/25", "192.168.0.0/24"};
    const Lines lines = given.lines();
    equal({"set KUBE-LOAD-BALANCER-SOURCE-IP 1.2.3.4,tcp:80,1.2.3.4"}, only(lines, "set KUBE-LOAD-BALANCER-SOURCE-IP"));
    equal({}, only(lines, "closed"));
  }

  void a_range_of_everything_is_two_halves() {
    Given given;
    given.service.vips = {"1.2.3.4"};
    given.service.source_ranges = {"0.0.0.0/0"};
    const Lines lines = given.lines();
    equal({"set KUBE-LOAD-BALANCER-SOURCE-CIDR 1.2.3.4,tcp:80,0.0.0.0/1",
           "set KUBE-LOAD-BALANCER-SOURCE-CIDR 1.2.3.4,tcp:80,128.0.0.0/1"},
          only(lines, "set KUBE-LOAD-BALANCER-SOURCE-CIDR"));
    equal({}, only(lines, "closed"));
  }

  void node_ports_of_each_protocol() {
    Given given;
    given.service.node_port = 30001;
    given.service.external_local = true;
    given.node.local_addresses = {"192.168.0.2", "192.168.1.2"};
    given.service.protocol = abi::Protocol::kUdp;
    equal({"set KUBE-NODE-PORT-UDP 30001", "set KUBE-NODE-PORT-LOCAL-UDP 30001"}, only(given.lines(), "set KUBE-NODE"));
    given.service.protocol = abi::Protocol::kSctp;
    equal({"set KUBE-NODE-PORT-SCTP-HASH 192.168.0.2,sctp:30001", "set KUBE-NODE-PORT-SCTP-HASH 192.168.1.2,sctp:30001",
           "set KUBE-NODE-PORT-LOCAL-SCTP-HASH 192.168.0.2,sctp:30001",
           "set KUBE-NODE-PORT-LOCAL-SCTP-HASH 192.168.1.2,sctp:30001"},
          only(given.lines(), "set KUBE-NODE"));
    given.service.external_local = false;
    equal(
        {"set KUBE-NODE-PORT-SCTP-HASH 192.168.0.2,sctp:30001", "set KUBE-NODE-PORT-SCTP-HASH 192.168.1.2,sctp:30001"},
        only(given.lines(), "set KUBE-NODE"));
  }

  void node_ports_on_every_address() {
    Given given;
    given.service.node_port = 30001;
    given.node.local_addresses = {"127.0.0.1", "127.9.9.9", "192.168.0.2", "192.168.1.2"};
    equal({"server 192.168.0.2:30001/TCP rr -> 10.180.0.1:80 10.180.2.1:80",
           "server 192.168.1.2:30001/TCP rr -> 10.180.0.1:80 10.180.2.1:80"},
          only(given.lines(),
               "server 1"
               "92"));
    equal({}, only(given.lines(), "server 127"));
  }

  void node_ports_on_chosen_addresses() {
    Given given;
    given.service.node_port = 30001;
    given.node.flags = 0;
    given.node.local_addresses = {"192.168.0.2", "192.168.1.2"};
    given.node.node_port_addresses = {"192.168.1.2", "127.0.0.1"};
    equal({"server 192.168.1.2:30001/TCP rr -> 10.180.0.1:80 10.180.2.1:80"}, only(given.lines(), "server 192"));
    equal({}, only(given.lines(), "server 127"));
  }

  void without_node_addresses_the_rest_is_omitted() {
    Given given;
    given.service.node_port = 30001;
    given.service.vips = {"1.2.3.4"};
    given.service.external_local = true;
    given.service.health_check_node_port = 30000;
    given.node.flags = 0;
    const Lines lines = given.lines();
    equal({}, only(lines, "set KUBE-NODE"));
    equal({}, only(lines, "set KUBE-HEALTH"));
    equal({"bind 172.30.0.41", "bind 1.2.3.4"}, only(lines, "bind"));
    given.service.node_port = 0;
    equal({"set KUBE-HEALTH-CHECK-NODE-PORT 30000"}, only(given.lines(), "set KUBE-HEALTH"));
  }

  void local_policy_falls_back_to_the_cluster() {
    Given given;
    given.service.node_port = 30001;
    given.service.external_local = true;
    given.service.endpoints = {{"10.180.2.1", 80, false}};
    const Lines lines = given.lines();
    equal({"server 192.168.0.2:30001/TCP rr -> 10.180.2.1:80"}, only(lines, "server 192"));
    equal({"set KUBE-NODE-PORT-TCP 30001", "set KUBE-NODE-PORT-LOCAL-TCP 30001"}, only(lines, "set KUBE-NODE"));
    equal({}, only(lines, "set KUBE-LOOP-BACK"));
  }

  void internal_local_without_local_endpoints() {
    Given given;
    given.service.internal_local = true;
    given.service.endpoints = {{"10.180.2.1", 80, false}};
    equal({"server 172.30.0.41:80/TCP rr ->"}, only(given.lines(), "server"));
    given.service.node_port = 30001;
    equal({"server 172.30.0.41:80/TCP rr -> 10.180.2.1:80", "server 192.168.0.2:30001/TCP rr -> 10.180.2.1:80"},
          only(given.lines(), "server"));
    given.service.endpoints.push_back({"10.180.0.1", 80, true});
    equal({"server 172.30.0.41:80/TCP rr -> 10.180.0.1:80",
           "server 192.168.0.2:30001/TCP rr -> 10.180.0.1:80 10.180.2.1:80"},
          only(given.lines(), "server"));
  }

  void hairpin_for_local_endpoints_in_any_state() {
    Given given;
    given.service.endpoints = {{"10.180.0.1", 80, true},
                               {"10.180.0.2", 80, true, Condition::kTerminating},
                               {"10.180.0.3", 80, true, Condition::kGone},
                               {"10.180.2.1", 80, false}};
    const Lines lines = given.lines();
    equal({"set KUBE-LOOP-BACK 10.180.0.1,tcp:80,10.180.0.1", "set KUBE-LOOP-BACK 10.180.0.2,tcp:80,10.180.0.2",
           "set KUBE-LOOP-BACK 10.180.0.3,tcp:80,10.180.0.3"},
          only(lines, "set KUBE-LOOP-BACK"));
    equal({"server 172.30.0.41:80/TCP rr -> 10.180.0.1:80 10.180.2.1:80"}, only(lines, "server"));
  }

  void without_endpoints_servers_are_empty() {
    Given given;
    given.service.endpoints.clear();
    given.service.node_port = 30001;
    equal({"server 172.30.0.41:80/TCP rr ->", "server 192.168.0.2:30001/TCP rr ->",
           "set KUBE-CLUSTER-IP 172.30.0.41,tcp:80", "set KUBE-NODE-PORT-TCP 30001", "set KUBE-IPVS-IPS 172.30.0.41",
           "bind 172.30.0.41"},
          given.lines());
  }

  void affinity_and_schedulers() {
    Given given;
    given.service.affinity_seconds = 10800;
    given.settings.scheduler = "wrr";
    equal({"server 172.30.0.41:80/TCP wrr flags 1 for 10800 -> 10.180.0.1:80 10.180.2.1:80"},
          only(given.lines(), "server"));
    given.settings.scheduler = "mh";
    equal({"server 172.30.0.41:80/TCP mh flags 17 for 10800 -> 10.180.0.1:80 10.180.2.1:80"},
          only(given.lines(), "server"));
    given.service.affinity_seconds = 0;
    equal({"server 172.30.0.41:80/TCP mh flags 16 for 0 -> 10.180.0.1:80 10.180.2.1:80"},
          only(given.lines(), "server"));
    given.settings.scheduler = "sh";
    equal({"server 172.30.0.41:80/TCP sh flags 8 for 0 -> 10.180.0.1:80 10.180.2.1:80"},
          only(given.lines(), "server"));
  }

  void missing_local_endpoints_are_flagged() {
    Given given;
    given.service.endpoints = {{"10.180.2.1", 80, false}};
    CPPUNIT_ASSERT(!given.plan().internal_without_local_endpoints && !given.plan().external_without_local_endpoints);
    given.service.external_local = true;
    CPPUNIT_ASSERT(!given.plan().external_without_local_endpoints);  // no frontend has this policy
    given.service.node_port = 30001;
    CPPUNIT_ASSERT(given.plan().external_without_local_endpoints && !given.plan().internal_without_local_endpoints);
    given.service.internal_local = true;
    CPPUNIT_ASSERT(given.plan().external_without_local_endpoints && given.plan().internal_without_local_endpoints);
    given.service.endpoints.push_back({"10.180.0.1", 80, true});
    CPPUNIT_ASSERT(!given.plan().internal_without_local_endpoints && !given.plan().external_without_local_endpoints);
    given.service.endpoints.clear();
    CPPUNIT_ASSERT(!given.plan().internal_without_local_endpoints && !given.plan().external_without_local_endpoints);
  }

  void frontends_of_a_policy_share_a_list() {
    Given given;
    given.service.node_port = 30001;
    given.service.external_ips = {"192.168.99.11"};
    given.node.local_addresses = {"192.168.0.2", "192.168.1.2"};
    const ipvs::ServicePlan plan = given.plan();
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, plan.servers.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, plan.node_ports);
    for (const ipvs::WantedServer& server : plan.servers) {
      CPPUNIT_ASSERT(server.real == plan.servers.front().real);
      CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc1:p80"), server.owner);
    }
  }

  void invalid_names_are_rejected() {
    Given given;
    given.service.name = "a b";
    try {
      given.plan();
      CPPUNIT_FAIL("taken");
    } catch (const sdk::Failure& failure) {
      CPPUNIT_ASSERT(failure.code() == abi::Code::kInvalid);
      CPPUNIT_ASSERT_EQUAL(std::string("ns1/a b:p80"), failure.object());
    }
    given.service.name = "svc1";
    given.service.protocol = static_cast<abi::Protocol>(200);
    CPPUNIT_ASSERT_THROW(given.plan(), sdk::Failure);
  }

  void facts_omit_link_local_addresses() {
    World world(abi::Family::kIpv6);
    NodeSpec node;
    node.ip = "fd00:9::2";
    node.detector_cidr = "fd00:1::/64";
    node.local_addresses = {"::1", "fd00:9::2", "fe80::1"};
    const ipvs::PlanFacts few = ipvs::plan_facts(abi::Family::kIpv6, world.node(node), {});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, few.local_addresses.size());
    node.local_addresses.push_back("fe80::2");
    node.local_addresses.push_back("febf::2");
    CPPUNIT_ASSERT(few == ipvs::plan_facts(abi::Family::kIpv6, world.node(node), {}));
    node.local_addresses.push_back("fec0::2");
    CPPUNIT_ASSERT(!(few == ipvs::plan_facts(abi::Family::kIpv6, world.node(node), {})));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsPlanTest);

}  // namespace plan_test
}  // namespace sluice::test
