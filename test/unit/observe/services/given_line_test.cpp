// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/observe/services/given_line.hpp"

namespace sluice::observe {
namespace given_line_test {

using store::FrontendKind;
using store::ServicePort;

class ServicesGivenLineTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ServicesGivenLineTest);
  CPPUNIT_TEST(one_line_for_each_frontend);
  CPPUNIT_TEST(policies_choose_the_endpoints);
  CPPUNIT_TEST(without_endpoints);
  CPPUNIT_TEST(affinity_and_source_ranges);
  CPPUNIT_TEST(node_ports_have_their_addresses);
  CPPUNIT_TEST(endpoints_of_a_frontend);
  CPPUNIT_TEST(ipv6_has_brackets);
  CPPUNIT_TEST_SUITE_END();

  static lib::IpAddress ip(const char* text) { return lib::IpAddress::parse(text).value(); }
  static ServicePort port(const std::string& name = "cart", const char* port_name = "http") {
    ServicePort out;
    out.key = {{base::Symbol("shop"), name}, base::Symbol(port_name), model::Protocol::tcp};
    return out;
  }
  static store::Endpoint endpoint(const char* address, bool in_cluster, bool in_local) {
    store::Endpoint out;
    out.address = ip(address).bytes();
    out.port = 8080;
    out.in_cluster = in_cluster;
    out.in_local = in_local;
    return out;
  }
  static std::string lines(const ServicePort& port, const NodePortAddresses& node_ports = {true, {}}) {
    std::string out;
    for (const auto& frontend : port.frontends) out += given_line(port, frontend, node_ports) + "\n";
    return out;
  }

 public:
  void one_line_for_each_frontend() {
    ServicePort p = port();
    p.frontends = {{FrontendKind::cluster_ip, ip("172.30.0.41"), 80},
                   {FrontendKind::external_ip, ip("192.0.2.1"), 80},
                   {FrontendKind::node_port, {}, 30080}};
    p.endpoints = {endpoint("10.1.0.1", true, true), endpoint("10.1.0.2", true, false),
                   endpoint("10.1.0.3", false, false)};
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "shop/cart:http 172.30.0.41:80/tcp -> 10.1.0.1:8080, 10.1.0.2:8080\n"
            "shop/cart:http 192.0.2.1:80/tcp masqueraded -> 10.1.0.1:8080, 10.1.0.2:8080\n"
            "shop/cart:http :30080/tcp at every address of this node masqueraded -> 10.1.0.1:8080, 10.1.0.2:8080\n"),
        lines(p));
  }

  void policies_choose_the_endpoints() {
    ServicePort p = port();
    p.frontends = {{FrontendKind::cluster_ip, ip("172.30.0.41"), 80}, {FrontendKind::node_port, {}, 30080}};
    p.endpoints = {endpoint("10.1.0.1", true, true), endpoint("10.1.0.2", true, false)};
    p.external_local = true;
    CPPUNIT_ASSERT_EQUAL(
        std::string("shop/cart:http 172.30.0.41:80/tcp -> 10.1.0.1:8080, 10.1.0.2:8080\n"
                    "shop/cart:http :30080/tcp at every address of this node -> 10.1.0.1:8080; from this node -> "
                    "10.1.0.1:8080, 10.1.0.2:8080\n"),
        lines(p));
    p.internal_local = true;
    p.external_local = false;
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "shop/cart:http 172.30.0.41:80/tcp -> 10.1.0.1:8080\n"
            "shop/cart:http :30080/tcp at every address of this node masqueraded -> 10.1.0.1:8080, 10.1.0.2:8080\n"),
        lines(p));
  }

  void without_endpoints() {
    ServicePort p = port();
    p.frontends = {{FrontendKind::cluster_ip, ip("172.30.0.41"), 80}};
    const std::string begin = "shop/cart:http 172.30.0.41:80/tcp ";
    CPPUNIT_ASSERT_EQUAL(begin + "-> no endpoints\n", lines(p));
    p.internal_local = true;
    CPPUNIT_ASSERT_EQUAL(begin + "-> no endpoints\n", lines(p));
    p.has_any_endpoint = true;
    CPPUNIT_ASSERT_EQUAL(begin + "-> no endpoints on this node\n", lines(p));
    p.internal_local = false;
    p.external_local = true;
    p.frontends = {{FrontendKind::node_port, {}, 30080}};
    p.endpoints = {endpoint("10.1.0.2", true, false)};
    CPPUNIT_ASSERT_EQUAL(
        std::string("shop/cart:http :30080/tcp at every address of this node from this node -> 10.1.0.2:8080; else no "
                    "endpoints on this node\n"),
        lines(p));
  }

  void affinity_and_source_ranges() {
    ServicePort p = port("cart", "");
    p.key.protocol = model::Protocol::udp;
    p.affinity_seconds = 10800;
    p.source_ranges = {lib::IpPrefix::parse("10.0.0.0/8").value(), lib::IpPrefix::parse("192.0.2.0/24").value()};
    p.frontends = {{FrontendKind::cluster_ip, ip("172.30.0.41"), 53},
                   {FrontendKind::load_balancer, ip("192.0.2.9"), 53}};
    p.endpoints = {endpoint("10.1.0.1", true, true)};
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart 172.30.0.41:53/udp sticky for 10800 s -> 10.1.0.1:8080\n"
                                     "shop/cart 192.0.2.9:53/udp sticky for 10800 s masqueraded -> 10.1.0.1:8080; only "
                                     "for 10.0.0.0/8, 192.0.2.0/24\n"),
                         lines(p));
  }

  void node_ports_have_their_addresses() {
    ServicePort p = port();
    p.frontends = {{FrontendKind::node_port, {}, 30080}};
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http :30080/tcp at no address -> no endpoints\n"), lines(p, {}));
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http :30080/tcp at 192.0.2.7, 192.0.2.9 -> no endpoints\n"),
                         lines(p, {false, {ip("192.0.2.7"), ip("192.0.2.9")}}));
    snapshot::NodeFacts node;
    node.node_ports_match_all = false;
    node.node_port_addresses = {ip("192.0.2.9"), ip("192.0.2.7")};
    node.local_addresses = {ip("198.51.100.1")};
    CPPUNIT_ASSERT(!node_port_addresses(&node).every);
    CPPUNIT_ASSERT(node_port_addresses(&node).addresses == (std::vector{ip("192.0.2.7"), ip("192.0.2.9")}));
    node.node_ports_match_all = true;
    CPPUNIT_ASSERT(node_port_addresses(&node).every && node_port_addresses(&node).addresses.empty());
    CPPUNIT_ASSERT(!node_port_addresses(nullptr).every);
  }

  void endpoints_of_a_frontend() {
    ServicePort p = port();
    p.frontends = {{FrontendKind::cluster_ip, ip("172.30.0.41"), 80}, {FrontendKind::node_port, {}, 30080}};
    p.endpoints = {endpoint("10.1.0.1", true, true), endpoint("10.1.0.2", true, false),
                   endpoint("10.1.0.3", false, false)};
    const std::set<std::string> local{"10.1.0.1:8080"}, both{"10.1.0.1:8080", "10.1.0.2:8080"};
    CPPUNIT_ASSERT(endpoints_for(p, p.frontends[0]) == both);
    p.internal_local = true;
    CPPUNIT_ASSERT(endpoints_for(p, p.frontends[0]) == local);
    p.external_local = true;  // pods of this node reach all of them
    CPPUNIT_ASSERT(endpoints_for(p, p.frontends[1]) == both);
  }

  void ipv6_has_brackets() {
    ServicePort p = port();
    p.family = lib::Family::ipv6;
    p.frontends = {{FrontendKind::cluster_ip, ip("fd00::1"), 80}};
    p.endpoints = {endpoint("fd01::1", true, true)};
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http [fd00::1]:80/tcp -> [fd01::1]:8080\n"), lines(p));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ServicesGivenLineTest);

}  // namespace given_line_test
}  // namespace sluice::observe
