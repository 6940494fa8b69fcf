// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The text of the rules of a service port, byte for byte.
#include "plugins/iptables/plan.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

#include "sluice/sdk/error.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"
#include "test/unit/iptables/plan_text.hpp"

namespace sluice::test {
namespace plan_test {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class PlanTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PlanTest);
  CPPUNIT_TEST(worked_example_byte_for_byte);
  CPPUNIT_TEST(worked_example_without_the_local_endpoint);
  CPPUNIT_TEST(cluster_ip_with_endpoints);
  CPPUNIT_TEST(cluster_ip_without_endpoints_is_rejected);
  CPPUNIT_TEST(cluster_ip_without_local_endpoints_is_dropped);
  CPPUNIT_TEST(external_ip);
  CPPUNIT_TEST(unknown_frontend_kind_is_ignored);
  CPPUNIT_TEST(external_ip_without_endpoints);
  CPPUNIT_TEST(load_balancer_ip);
  CPPUNIT_TEST(load_balancer_ip_with_source_ranges);
  CPPUNIT_TEST(source_range_with_the_node_admits_the_address_itself);
  CPPUNIT_TEST(source_ranges_without_endpoints_make_no_firewall);
  CPPUNIT_TEST(source_ranges_without_load_balancer_make_no_firewall);
  CPPUNIT_TEST(node_port_without_endpoints_names_local_destinations);
  CPPUNIT_TEST(health_check_port_does_not_need_endpoints);
  CPPUNIT_TEST(masquerade_all);
  CPPUNIT_TEST(local_detectors);
  CPPUNIT_TEST(detector_of_all_addresses_has_no_negation);
  CPPUNIT_TEST(external_policy_local_without_detector);
  CPPUNIT_TEST(external_policy_cluster_masquerades);
  CPPUNIT_TEST(both_policies_local_without_external_address);
  CPPUNIT_TEST(internal_local_and_external_cluster_have_two_chains);
  CPPUNIT_TEST(probabilities);
  CPPUNIT_TEST(session_affinity);
  CPPUNIT_TEST(unnamed_port);
  CPPUNIT_TEST(sctp_and_udp);
  CPPUNIT_TEST(ipv6);
  CPPUNIT_TEST(same_endpoint_of_two_services_has_two_chains);
  CPPUNIT_TEST(counts_are_pinned);
  CPPUNIT_TEST(names_that_could_inject_rules_are_rejected);
  CPPUNIT_TEST_SUITE_END();

  void worked_example_byte_for_byte() {
    ServiceSpec spec;
    spec.node_port = 30001;
    spec.external_local = true;
    spec.endpoints = {e1(), e2()};
    const std::string expected = R"(:KUBE-EXT-XPGD46QRK7WJZT7O - [0:0]
:KUBE-SVC-XPGD46QRK7WJZT7O - [0:0]
:KUBE-SVL-XPGD46QRK7WJZT7O - [0:0]
:KUBE-SEP-SXIVWICOYRO3J4NJ - [0:0]
:KUBE-SEP-ZX7GRIZKSNUQ3LAJ - [0:0]
-A KUBE-SERVICES -m comment --comment "ns1/svc1:p80 cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 -j KUBE-SVC-XPGD46QRK7WJZT7O
-A KUBE-NODEPORTS -m comment --comment ns1/svc1:p80 -m tcp -p tcp --dport 30001 -j KUBE-EXT-XPGD46QRK7WJZT7O
-A KUBE-SVC-XPGD46QRK7WJZT7O -m comment --comment "ns1/svc1:p80 cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
-A KUBE-EXT-XPGD46QRK7WJZT7O -m comment --comment "pod traffic for ns1/svc1:p80 external destinations" -s 10.0.0.0/8 -j KUBE-SVC-XPGD46QRK7WJZT7O
-A KUBE-EXT-XPGD46QRK7WJZT7O -m comment --comment "masquerade LOCAL traffic for ns1/svc1:p80 external destinations" -m addrtype --src-type LOCAL -j KUBE-MARK-MASQ
-A KUBE-EXT-XPGD46QRK7WJZT7O -m comment --comment "route LOCAL traffic for ns1/svc1:p80 external destinations" -m addrtype --src-type LOCAL -j KUBE-SVC-XPGD46QRK7WJZT7O
-A KUBE-EXT-XPGD46QRK7WJZT7O -j KUBE-SVL-XPGD46QRK7WJZT7O
-A KUBE-SVC-XPGD46QRK7WJZT7O -m comment --comment "ns1/svc1:p80 -> 10.180.0.1:80" -m statistic --mode random --probability 0.5000000000 -j KUBE-SEP-SXIVWICOYRO3J4NJ
-A KUBE-SVC-XPGD46QRK7WJZT7O -m comment --comment "ns1/svc1:p80 -> 10.180.2.1:80" -j KUBE-SEP-ZX7GRIZKSNUQ3LAJ
-A KUBE-SVL-XPGD46QRK7WJZT7O -m comment --comment "ns1/svc1:p80 -> 10.180.0.1:80" -j KUBE-SEP-SXIVWICOYRO3J4NJ
-A KUBE-SEP-SXIVWICOYRO3J4NJ -m comment --comment ns1/svc1:p80 -s 10.180.0.1 -j KUBE-MARK-MASQ
-A KUBE-SEP-SXIVWICOYRO3J4NJ -m comment --comment ns1/svc1:p80 -m tcp -p tcp -j DNAT --to-destination 10.180.0.1:80
-A KUBE-SEP-ZX7GRIZKSNUQ3LAJ -m comment --comment ns1/svc1:p80 -s 10.180.2.1 -j KUBE-MARK-MASQ
-A KUBE-SEP-ZX7GRIZKSNUQ3LAJ -m comment --comment ns1/svc1:p80 -m tcp -p tcp -j DNAT --to-destination 10.180.2.1:80
)";
    CPPUNIT_ASSERT_EQUAL(expected, nat(plan(spec)));
    CPPUNIT_ASSERT_EQUAL(std::string(), filter(plan(spec)));
  }

  void worked_example_without_the_local_endpoint() {
    ServiceSpec spec;
    spec.node_port = 30001;
    spec.external_local = true;
    spec.endpoints = {e2()};
    CPPUNIT_ASSERT_EQUAL(
        std::string("-A KUBE-EXTERNAL-SERVICES -m comment --comment \"ns1/svc1:p80 has no local endpoints\" "
                    "-m addrtype --dst-type LOCAL -m tcp -p tcp --dport 30001 -j DROP\n"),
        filter(plan(spec)));
    CPPUNIT_ASSERT(!has(nat(plan(spec)), "KUBE-SVL-"));
    CPPUNIT_ASSERT(has(nat(plan(spec)), "-A KUBE-NODEPORTS"));
  }

  void cluster_ip_with_endpoints() {
    ServiceSpec spec;
    spec.endpoints = {e1()};
    CPPUNIT_ASSERT_EQUAL(std::string("-A KUBE-SERVICES -m comment --comment \"ns1/svc1:p80 cluster IP\" -m tcp -p tcp "
                                     "-d 172.30.0.41 --dport 80 -j KUBE-SVC-XPGD46QRK7WJZT7O\n"),
                         lines_of(plan(spec), "KUBE-SERVICES"));
    CPPUNIT_ASSERT_EQUAL(std::string(), lines_of(plan(spec), "KUBE-EXT-"));
  }

  void unknown_frontend_kind_is_ignored() {
    ServiceSpec spec;
    spec.endpoints = {e1()};
    World world(abi::Family::kIpv4);
    abi::ServicePort port = world.service(spec);
    auto frontends = sdk::frontends_of(port, abi::FrontendKind::kClusterIp);
    frontends.push_back(frontends.front());
    frontends.back().kind = static_cast<abi::FrontendKind>(9);
    port.frontends = sdk::array(frontends.data(), frontends.size());
    const iptables::ServicePlan made = iptables::plan_service(port, iptables::plan_facts(abi::Family::kIpv4, world.node({})));
    CPPUNIT_ASSERT_EQUAL(nat(plan(spec)), nat(made));
    CPPUNIT_ASSERT_EQUAL(filter(plan(spec)), filter(made));
  }

  void cluster_ip_without_endpoints_is_rejected() {
    const ServiceSpec spec;
    CPPUNIT_ASSERT_EQUAL(std::string("-A KUBE-SERVICES -m comment --comment \"ns1/svc1:p80 has no endpoints\" "
                                     "-m tcp -p tcp -d 172.30.0.41 --dport 80 -j REJECT\n"),
                         filter(plan(spec)));
    CPPUNIT_ASSERT_EQUAL(std::string(), nat(plan(spec)));
  }

  void cluster_ip_without_local_endpoints_is_dropped() {
    ServiceSpec spec;
    spec.internal_local = true;
    spec.endpoints = {e2()};
    CPPUNIT_ASSERT_EQUAL(std::string("-A KUBE-SERVICES -m comment --comment \"ns1/svc1:p80 has no local endpoints\" "
                                     "-m tcp -p tcp -d 172.30.0.41 --dport 80 -j DROP\n"),
                         filter(plan(spec)));
    CPPUNIT_ASSERT_EQUAL(std::string(), nat(plan(spec)));
  }

  void external_ip() {
    ServiceSpec spec;
    spec.external_ips = {"192.168.99.11", "192.168.99.12"};
    spec.endpoints = {e1()};
    const std::string text = lines_of(plan(spec), "KUBE-SERVICES");
    CPPUNIT_ASSERT(has(text, "-A KUBE-SERVICES -m comment --comment \"ns1/svc1:p80 external IP\" -m tcp -p tcp "
                             "-d 192.168.99.11 --dport 80 -j KUBE-EXT-XPGD46QRK7WJZT7O\n"));
    CPPUNIT_ASSERT(has(text, "-d 192.168.99.12 --dport 80 -j KUBE-EXT-XPGD46QRK7WJZT7O\n"));
    CPPUNIT_ASSERT_EQUAL(std::string(), filter(plan(spec)));
  }

  void external_ip_without_endpoints() {
    ServiceSpec spec;
    spec.external_ips = {"192.168.99.11"};
    CPPUNIT_ASSERT(has(filter(plan(spec)),
                       "-A KUBE-EXTERNAL-SERVICES -m comment --comment \"ns1/svc1:p80 has no endpoints\" "
                       "-m tcp -p tcp -d 192.168.99.11 --dport 80 -j REJECT\n"));
    spec.external_local = true;
    spec.endpoints = {e2()};
    CPPUNIT_ASSERT_EQUAL(std::string("-A KUBE-EXTERNAL-SERVICES -m comment --comment \"ns1/svc1:p80 has no local "
                                     "endpoints\" -m tcp -p tcp -d 192.168.99.11 --dport 80 -j DROP\n"),
                         filter(plan(spec)));
    CPPUNIT_ASSERT(has(nat(plan(spec)), "external IP\" -m tcp -p tcp -d 192.168.99.11 --dport 80 -j KUBE-EXT-"));
  }

  void load_balancer_ip() {
    ServiceSpec spec;
    spec.vips = {"1.2.3.4"};
    spec.endpoints = {e1()};
    CPPUNIT_ASSERT(has(nat(plan(spec)), "-A KUBE-SERVICES -m comment --comment \"ns1/svc1:p80 loadbalancer IP\" "
                                        "-m tcp -p tcp -d 1.2.3.4 --dport 80 -j KUBE-EXT-XPGD46QRK7WJZT7O\n"));
    CPPUNIT_ASSERT_EQUAL(std::string(), filter(plan(spec)));
    spec.endpoints.clear();
    CPPUNIT_ASSERT(has(filter(plan(spec)), "-A KUBE-EXTERNAL-SERVICES -m comment --comment \"ns1/svc1:p80 has no "
                                           "endpoints\" -m tcp -p tcp -d 1.2.3.4 --dport 80 -j REJECT\n"));
  }

  void load_balancer_ip_with_source_ranges() {
    ServiceSpec spec;
    spec.vips = {"1.2.3.4"};
    spec.source_ranges = {"203.0.113.0/25", "198.51.100.0/24"};
    spec.endpoints = {e1()};
    CPPUNIT_ASSERT(has(nat(plan(spec)), "loadbalancer IP\" -m tcp -p tcp -d 1.2.3.4 --dport 80 "
                                        "-j KUBE-FW-XPGD46QRK7WJZT7O\n"));
    CPPUNIT_ASSERT_EQUAL(
        std::string("-A KUBE-FW-XPGD46QRK7WJZT7O -m comment --comment \"ns1/svc1:p80 loadbalancer IP\" "
                    "-s 203.0.113.0/25 -j KUBE-EXT-XPGD46QRK7WJZT7O\n"
                    "-A KUBE-FW-XPGD46QRK7WJZT7O -m comment --comment \"ns1/svc1:p80 loadbalancer IP\" "
                    "-s 198.51.100.0/24 -j KUBE-EXT-XPGD46QRK7WJZT7O\n"
                    "-A KUBE-FW-XPGD46QRK7WJZT7O -m comment --comment \"other traffic to ns1/svc1:p80 will be dropped "
                    "by KUBE-PROXY-FIREWALL\"\n"),
        lines_of(plan(spec), "KUBE-FW-"));
    CPPUNIT_ASSERT_EQUAL(std::string("-A KUBE-PROXY-FIREWALL -m comment --comment \"ns1/svc1:p80 traffic not accepted "
                                     "by KUBE-FW-XPGD46QRK7WJZT7O\" -m tcp -p tcp -d 1.2.3.4 --dport 80 -j DROP\n"),
                         filter(plan(spec)));
  }

  void source_range_with_the_node_admits_the_address_itself() {
    ServiceSpec spec;
    spec.vips = {"1.2.3.4", "1.2.3.5"};
    spec.source_ranges = {"192.168.0.0/24"};
    spec.endpoints = {e1()};
    const std::string text = lines_of(plan(spec), "KUBE-FW-");
    CPPUNIT_ASSERT(has(text, "loadbalancer IP\" -s 1.2.3.4 -j KUBE-EXT-XPGD46QRK7WJZT7O\n"));
    CPPUNIT_ASSERT(has(text, "loadbalancer IP\" -s 1.2.3.5 -j KUBE-EXT-XPGD46QRK7WJZT7O\n"));
    NodeSpec elsewhere;
    elsewhere.ip = "192.168.1.2";
    CPPUNIT_ASSERT(!has(lines_of(plan(spec, elsewhere), "KUBE-FW-"), "-s 1.2.3.4 "));
  }

  void source_ranges_without_endpoints_make_no_firewall() {
    ServiceSpec spec;
    spec.vips = {"1.2.3.4"};
    spec.source_ranges = {"203.0.113.0/25"};
    CPPUNIT_ASSERT_EQUAL(std::string(), nat(plan(spec)));
    CPPUNIT_ASSERT(!has(filter(plan(spec)), "KUBE-PROXY-FIREWALL"));
  }

  void source_ranges_without_load_balancer_make_no_firewall() {
    ServiceSpec spec;
    spec.node_port = 30001;
    spec.source_ranges = {"203.0.113.0/25"};
    spec.endpoints = {e1()};
    CPPUNIT_ASSERT(!has(nat(plan(spec)), "KUBE-FW-"));
  }

  void node_port_without_endpoints_names_local_destinations() {
    ServiceSpec spec;
    spec.node_port = 30001;
    CPPUNIT_ASSERT(has(filter(plan(spec)),
                       "-A KUBE-EXTERNAL-SERVICES -m comment --comment \"ns1/svc1:p80 has no endpoints\" "
                       "-m addrtype --dst-type LOCAL -m tcp -p tcp --dport 30001 -j REJECT\n"));
  }

  void health_check_port_does_not_need_endpoints() {
    ServiceSpec spec;
    spec.protocol = abi::Protocol::kUdp;
    spec.health_check_node_port = 30000;
    CPPUNIT_ASSERT(has(filter(plan(spec)), "-A KUBE-NODEPORTS -m comment --comment \"ns1/svc1:p80 health check node "
                                           "port\" -m tcp -p tcp --dport 30000 -j ACCEPT\n"));
  }

  void masquerade_all() {
    ServiceSpec spec;
    spec.endpoints = {e1()};
    NodeSpec node;
    node.flags |= abi::kMasqueradeAll;
    CPPUNIT_ASSERT(lines_of(plan(spec, node), "KUBE-SVC-")
                       .starts_with("-A KUBE-SVC-XPGD46QRK7WJZT7O -m comment --comment \"ns1/svc1:p80 cluster IP\" "
                                    "-m tcp -p tcp -d 172.30.0.41 --dport 80 -j KUBE-MARK-MASQ\n"));
  }

  void local_detectors() {
    ServiceSpec spec;
    spec.node_port = 30001;
    spec.external_local = true;
    spec.endpoints = {e1()};
    const auto check = [&](const NodeSpec& node, const std::string& is_local) {
      const std::string text = nat(plan(spec, node));
      CPPUNIT_ASSERT(has(text, "--dport 80 ! " + is_local + " -j KUBE-MARK-MASQ\n"));
      CPPUNIT_ASSERT(has(text, "pod traffic for ns1/svc1:p80 external destinations\" " + is_local + " -j KUBE-SVC-"));
    };
    NodeSpec node;
    check(node, "-s 10.0.0.0/8");
    node.detector = abi::LocalDetectorKind::kBridgeInterface;
    node.detector_interface = "cbr0";
    check(node, "-i cbr0");
    node.detector = abi::LocalDetectorKind::kInterfaceNamePrefix;
    node.detector_interface = "cni";
    check(node, "-i cni+");
    node.detector = abi::LocalDetectorKind::kNone;
    CPPUNIT_ASSERT(!has(nat(plan(spec, node)), "cluster IP\" -m tcp -p tcp -d 172.30.0.41 --dport 80 !"));
    node.detector = abi::LocalDetectorKind::kInterfaceNamePrefix;
    for (const char* bad : {"", "a b", "eth0\n-A INPUT", "sixteen-letters1"}) {
      node.detector_interface = bad;
      CPPUNIT_ASSERT_THROW(plan(spec, node), sdk::Failure);
    }
  }

  void detector_of_all_addresses_has_no_negation() {
    ServiceSpec spec;
    spec.endpoints = {e1()};
    NodeSpec node;
    node.detector_cidr = "0.0.0.0/0";
    CPPUNIT_ASSERT(!has(lines_of(plan(spec, node), "KUBE-SVC-"), "KUBE-MARK-MASQ"));
  }

  void external_policy_local_without_detector() {
    ServiceSpec spec;
    spec.node_port = 30001;
    spec.external_local = true;
    spec.endpoints = {e1()};
    NodeSpec node;
    node.detector = abi::LocalDetectorKind::kNone;
    CPPUNIT_ASSERT_EQUAL(
        std::string("-A KUBE-EXT-XPGD46QRK7WJZT7O -m comment --comment \"masquerade LOCAL traffic for ns1/svc1:p80 "
                    "external destinations\" -m addrtype --src-type LOCAL -j KUBE-MARK-MASQ\n"
                    "-A KUBE-EXT-XPGD46QRK7WJZT7O -m comment --comment \"route LOCAL traffic for ns1/svc1:p80 external "
                    "destinations\" -m addrtype --src-type LOCAL -j KUBE-SVC-XPGD46QRK7WJZT7O\n"
                    "-A KUBE-EXT-XPGD46QRK7WJZT7O -j KUBE-SVL-XPGD46QRK7WJZT7O\n"),
        lines_of(plan(spec, node), "KUBE-EXT-"));
  }

  void external_policy_cluster_masquerades() {
    ServiceSpec spec;
    spec.node_port = 30001;
    spec.endpoints = {e1()};
    CPPUNIT_ASSERT_EQUAL(std::string("-A KUBE-EXT-XPGD46QRK7WJZT7O -m comment --comment \"masquerade traffic for "
                                     "ns1/svc1:p80 external destinations\" -j KUBE-MARK-MASQ\n"
                                     "-A KUBE-EXT-XPGD46QRK7WJZT7O -j KUBE-SVC-XPGD46QRK7WJZT7O\n"),
                         lines_of(plan(spec), "KUBE-EXT-"));
  }

  void both_policies_local_without_external_address() {
    ServiceSpec spec;
    spec.internal_local = spec.external_local = true;
    spec.endpoints = {e1(), e2()};
    const std::string text = nat(plan(spec));
    CPPUNIT_ASSERT(!has(text, "KUBE-SVC-"));
    CPPUNIT_ASSERT(has(text, "cluster IP\" -m tcp -p tcp -d 172.30.0.41 --dport 80 -j KUBE-SVL-XPGD46QRK7WJZT7O\n"));
    CPPUNIT_ASSERT(has(text, "-A KUBE-SVL-XPGD46QRK7WJZT7O -m comment --comment \"ns1/svc1:p80 cluster IP\" -m tcp -p "
                             "tcp -d 172.30.0.41 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ\n"));
    CPPUNIT_ASSERT(!has(text, "10.180.2.1"));
  }

  void internal_local_and_external_cluster_have_two_chains() {
    ServiceSpec spec;
    spec.internal_local = true;
    spec.node_port = 30001;
    spec.endpoints = {e1(), e2()};
    const iptables::ServicePlan made = plan(spec);
    CPPUNIT_ASSERT(has(lines_of(made, "KUBE-SERVICES"), "-j KUBE-SVL-"));
    CPPUNIT_ASSERT(has(lines_of(made, "KUBE-EXT-"), "\n-A KUBE-EXT-XPGD46QRK7WJZT7O -j KUBE-SVC-"));
    CPPUNIT_ASSERT(has(lines_of(made, "KUBE-SVC-"), "10.180.2.1:80"));
    CPPUNIT_ASSERT(!has(lines_of(made, "KUBE-SVL-"), "10.180.2.1:80"));
  }

  void probabilities() {
    ServiceSpec spec;
    for (int i = 1; i <= 7; ++i) spec.endpoints.push_back({"10.180.0." + std::to_string(i), 80, false, {}});
    const std::string text = lines_of(plan(spec), "KUBE-SVC-");
    for (const char* p : {"0.1428571429", "0.1666666667", "0.2000000000", "0.2500000000", "0.3333333333",
                          "0.5000000000"}) {
      CPPUNIT_ASSERT(has(text, std::string("-m statistic --mode random --probability ") + p + " -j KUBE-SEP-"));
    }
    CPPUNIT_ASSERT(has(text, "\"ns1/svc1:p80 -> 10.180.0.7:80\" -j KUBE-SEP-"));
    spec.endpoints.clear();
    for (int i = 0; i < 1000; ++i) {
      spec.endpoints.push_back({"10.1." + std::to_string(i / 200) + "." + std::to_string(i % 200 + 1), 80, false, {}});
    }
    CPPUNIT_ASSERT(has(nat(plan(spec)), "--probability 0.0010000000 "));
  }

  void session_affinity() {
    ServiceSpec spec;
    spec.affinity_seconds = 10800;
    spec.endpoints = {e1(), e2()};
    const iptables::ServicePlan made = plan(spec);
    CPPUNIT_ASSERT_EQUAL(
        std::string("-A KUBE-SVC-XPGD46QRK7WJZT7O -m comment --comment \"ns1/svc1:p80 cluster IP\" -m tcp -p tcp "
                    "-d 172.30.0.41 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ\n"
                    "-A KUBE-SVC-XPGD46QRK7WJZT7O -m comment --comment \"ns1/svc1:p80 -> 10.180.0.1:80\" -m recent "
                    "--name KUBE-SEP-SXIVWICOYRO3J4NJ --rcheck --seconds 10800 --reap -j KUBE-SEP-SXIVWICOYRO3J4NJ\n"
                    "-A KUBE-SVC-XPGD46QRK7WJZT7O -m comment --comment \"ns1/svc1:p80 -> 10.180.2.1:80\" -m recent "
                    "--name KUBE-SEP-ZX7GRIZKSNUQ3LAJ --rcheck --seconds 10800 --reap -j KUBE-SEP-ZX7GRIZKSNUQ3LAJ\n"
                    "-A KUBE-SVC-XPGD46QRK7WJZT7O -m comment --comment \"ns1/svc1:p80 -> 10.180.0.1:80\" -m statistic "
                    "--mode random --probability 0.5000000000 -j KUBE-SEP-SXIVWICOYRO3J4NJ\n"
                    "-A KUBE-SVC-XPGD46QRK7WJZT7O -m comment --comment \"ns1/svc1:p80 -> 10.180.2.1:80\" "
                    "-j KUBE-SEP-ZX7GRIZKSNUQ3LAJ\n"),
        lines_of(made, "KUBE-SVC-"));
    CPPUNIT_ASSERT_EQUAL(
        std::string("-A KUBE-SEP-SXIVWICOYRO3J4NJ -m comment --comment ns1/svc1:p80 -s 10.180.0.1 -j KUBE-MARK-MASQ\n"
                    "-A KUBE-SEP-SXIVWICOYRO3J4NJ -m comment --comment ns1/svc1:p80 -m recent "
                    "--name KUBE-SEP-SXIVWICOYRO3J4NJ --set -m tcp -p tcp -j DNAT --to-destination 10.180.0.1:80\n"),
        lines_of(made, "KUBE-SEP-SXIV"));
  }

  void unnamed_port() {
    ServiceSpec spec;
    spec.port_name = "";
    spec.endpoints = {e1()};
    CPPUNIT_ASSERT(has(nat(plan(spec)), ":KUBE-SVC-AQI2S6QIMU7PVVRP - [0:0]\n"));
    CPPUNIT_ASSERT(has(nat(plan(spec)), "-m comment --comment \"ns1/svc1 cluster IP\""));
  }

  void sctp_and_udp() {
    ServiceSpec spec;
    spec.endpoints = {e1()};
    spec.protocol = abi::Protocol::kSctp;
    CPPUNIT_ASSERT(has(nat(plan(spec)), "-m sctp -p sctp -d 172.30.0.41 --dport 80 -j KUBE-SVC-"));
    CPPUNIT_ASSERT(has(nat(plan(spec)), "-m sctp -p sctp -j DNAT --to-destination 10.180.0.1:80\n"));
    spec.protocol = abi::Protocol::kUdp;
    CPPUNIT_ASSERT(has(nat(plan(spec)), "-m udp -p udp -d 172.30.0.41 --dport 80 -j KUBE-SVC-"));
    CPPUNIT_ASSERT(!has(nat(plan(spec)), "XPGD46QRK7WJZT7O"));
  }

  void ipv6() {
    ServiceSpec spec;
    spec.cluster_ip = "fd00:10::41";
    spec.endpoints = {{"fd00::1", 80, true, Condition::kReady}};
    NodeSpec node;
    node.ip = "fd00::2";
    node.detector_cidr = "fd00::/8";
    const std::string text = nat(plan(spec, node, abi::Family::kIpv6));
    CPPUNIT_ASSERT(has(text, "-d fd00:10::41 --dport 80 ! -s fd00::/8 -j KUBE-MARK-MASQ\n"));
    CPPUNIT_ASSERT(has(text, ":KUBE-SEP-T5UNFIPVCZXM3U7X - [0:0]\n"));
    CPPUNIT_ASSERT(has(text, "\"ns1/svc1:p80 -> [fd00::1]:80\" -j KUBE-SEP-T5UNFIPVCZXM3U7X\n"));
    CPPUNIT_ASSERT(has(text, "-A KUBE-SEP-T5UNFIPVCZXM3U7X -m comment --comment ns1/svc1:p80 -s fd00::1 -j KUBE-MARK-MASQ\n"));
    CPPUNIT_ASSERT(has(text, "-j DNAT --to-destination [fd00::1]:80\n"));
  }

  void same_endpoint_of_two_services_has_two_chains() {
    ServiceSpec a;
    a.endpoints = {e1()};
    ServiceSpec b = a;
    b.name = "svc2";
    CPPUNIT_ASSERT(plan(a).chains.back().hash != plan(b).chains.back().hash);
  }

  void counts_are_pinned() {
    for (const ServiceSpec& spec : many_services(3, 10)) {
      const iptables::ServicePlan made = plan(spec);
      CPPUNIT_ASSERT_EQUAL(std::size_t{11}, made.chains.size());  // SVC, 10 SEP
      CPPUNIT_ASSERT_EQUAL(std::size_t{32}, made.rules.size());   // dispatch, masquerade, 10 balance, 2 x 10
    }
    ServiceSpec busy;
    busy.node_port = 30001;
    busy.external_ips = {"192.168.99.11"};
    busy.vips = {"1.2.3.4"};
    busy.source_ranges = {"203.0.113.0/25"};
    busy.external_local = true;
    busy.affinity_seconds = 10;
    busy.endpoints = {e1(), e2()};
    CPPUNIT_ASSERT_EQUAL(std::size_t{6}, plan(busy).chains.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{22}, plan(busy).rules.size());
  }

  void names_that_could_inject_rules_are_rejected() {
    for (const char* bad : {"svc 1", "svc\"1", "svc\n-A INPUT -j ACCEPT", "svc\\", "svc\t1", "ns/svc", "svc:1"}) {
      ServiceSpec spec;
      spec.name = bad;
      CPPUNIT_ASSERT_THROW(plan(spec), sdk::Failure);
    }
    ServiceSpec longest;
    longest.namespace_name = longest.name = longest.port_name = std::string(63, 'a');
    longest.vips = {"1.2.3.4"};
    longest.source_ranges = {"203.0.113.0/25"};
    longest.endpoints = {e1()};
    CPPUNIT_ASSERT(has(nat(plan(longest)), "will be dropped by KUBE-PROXY-FIREWALL\""));
    longest.name += "a";
    CPPUNIT_ASSERT_THROW(plan(longest), sdk::Failure);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(PlanTest);

}  // namespace plan_test
}  // namespace sluice::test
