// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Traces packets through the rules that the backend wrote. The numbers are those of the
// conformance cases in the behaviour reference, 12 A to H.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "test/unit/iptables/backend_rig.hpp"
#include "test/unit/iptables/plan_text.hpp"

namespace sluice::test {
namespace decision_test {

constexpr char kClusterIp[] = "172.30.0.41";
constexpr char kExternalIp[] = "192.168.99.11";
constexpr char kVip[] = "1.2.3.4";

// The clients of the cases.
Packet pod(const std::string& to, int port = 80) { return {"10.0.0.2", to, "tcp", port, "cni0"}; }
Packet node(const std::string& to, int port = 80) { return {"192.168.0.2", to, "tcp", port, ""}; }
Packet outside(const std::string& to, int port = 80) { return {"203.0.113.2", to, "tcp", port, "eth0"}; }

ServiceSpec everything(std::vector<EndpointSpec> endpoints) {
  ServiceSpec spec;
  spec.node_port = 30001;
  spec.external_ips = {kExternalIp};
  spec.vips = {kVip};
  spec.endpoints = std::move(endpoints);
  return spec;
}

class DecisionTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DecisionTest);
  CPPUNIT_TEST(case_1_to_3_cluster_ip);
  CPPUNIT_TEST(case_4_hairpin);
  CPPUNIT_TEST(case_5_to_7_ports_and_protocols);
  CPPUNIT_TEST(case_9_ipv6);
  CPPUNIT_TEST(case_11_even_shares);
  CPPUNIT_TEST(case_12_interface_detectors);
  CPPUNIT_TEST(case_13_to_15_no_endpoints);
  CPPUNIT_TEST(case_19_external_policy_cluster);
  CPPUNIT_TEST(case_20_to_22_external_policy_local);
  CPPUNIT_TEST(case_23_no_local_endpoint);
  CPPUNIT_TEST(case_24_no_endpoint_anywhere);
  CPPUNIT_TEST(case_25_no_detector);
  CPPUNIT_TEST(case_27_to_30_internal_policy_local);
  CPPUNIT_TEST(case_31_one_local_of_two);
  CPPUNIT_TEST(case_32_health_check_port);
  CPPUNIT_TEST(case_33_to_35_terminating_with_policy_cluster);
  CPPUNIT_TEST(case_36_to_39_terminating_with_policy_local);
  CPPUNIT_TEST(case_56_to_61_source_ranges);
  CPPUNIT_TEST(case_63_to_66_node_port_addresses);
  CPPUNIT_TEST(case_71_service_address_wins_over_node_port);
  CPPUNIT_TEST(case_72_loopback_stays_closed);
  CPPUNIT_TEST(case_73_to_76_affinity);
  CPPUNIT_TEST_SUITE_END();

  // Runs a full transaction with these service ports.
  struct Scene {
    explicit Scene(const std::vector<ServiceSpec>& services, const NodeSpec& spec = {}) {
      CPPUNIT_ASSERT(rig.full(services, spec) == abi::Code::kOk);
    }
    void expect(const std::string& outcomes, const Packet& packet) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(packet.source + " to " + packet.destination + ":" + std::to_string(packet.port),
                                   outcomes, rig.tracer().outcomes(packet));
    }
    // For all three kinds of external addresses.
    void expect_external(const std::string& outcomes, Packet (*from)(const std::string&, int)) {
      expect(outcomes, from(kExternalIp, 80));
      expect(outcomes, from(kVip, 80));
      expect(outcomes, from("192.168.0.2", 30001));
    }
    IptablesRig rig;
  };

  void case_1_to_3_cluster_ip() {  // cases 1-3
    ServiceSpec spec;
    spec.endpoints = {e1(), e2()};
    Scene scene({spec});
    scene.expect("10.180.0.1:80 10.180.2.1:80", pod(kClusterIp));
    CPPUNIT_ASSERT_DOUBLES_EQUAL(0.5, scene.rig.tracer().trace(pod(kClusterIp)).at("10.180.0.1:80"), 1e-9);
    scene.expect("10.180.0.1:80* 10.180.2.1:80*", node(kClusterIp));
    scene.expect("10.180.0.1:80* 10.180.2.1:80*", outside(kClusterIp));
    NodeSpec all;
    all.flags |= abi::kMasqueradeAll;
    Scene({spec}, all).expect("10.180.0.1:80* 10.180.2.1:80*", pod(kClusterIp));
    NodeSpec none;
    none.detector = abi::LocalDetectorKind::kNone;
    Scene without({spec}, none);
    without.expect("10.180.0.1:80 10.180.2.1:80", outside(kClusterIp));
    without.expect("10.180.0.1:80 10.180.2.1:80", node(kClusterIp));
  }

  void case_4_hairpin() {  // case 4
    ServiceSpec spec;
    spec.endpoints = {e1(), e2()};
    Packet own = pod(kClusterIp);
    own.source = "10.180.0.1";
    Scene({spec}).expect("10.180.0.1:80* 10.180.2.1:80", own);
  }

  void case_5_to_7_ports_and_protocols() {  // cases 5, 6
    ServiceSpec http;
    http.endpoints = {{"10.180.0.1", 8080, true, Condition::kReady}};
    ServiceSpec https = http;
    https.port_name = "p443";
    https.port = 443;
    https.endpoints[0].port = 8443;
    ServiceSpec udp = http;
    udp.protocol = abi::Protocol::kUdp;
    udp.port_name = "u80";
    udp.endpoints[0].port = 5353;
    Scene scene({http, https, udp});
    scene.expect("10.180.0.1:8080", pod(kClusterIp, 80));
    scene.expect("10.180.0.1:8443", pod(kClusterIp, 443));
    scene.expect("PASS", pod(kClusterIp, 81));
    Packet packet = pod(kClusterIp);
    packet.protocol = "udp";
    scene.expect("10.180.0.1:5353", packet);
  }

  void case_9_ipv6() {  // case 9
    ServiceSpec spec;
    spec.cluster_ip = "fd00:10::41";
    spec.endpoints = {{"fd00:2::1", 80, true, Condition::kReady}};
    NodeSpec facts;
    facts.ip = "fd00::2";
    facts.detector_cidr = "fd00:2::/64";
    IptablesRig rig(abi::Family::kIpv6);
    CPPUNIT_ASSERT(rig.full({spec}, facts) == abi::Code::kOk);
    const Tracer tracer = rig.tracer({"fd00::2"});
    CPPUNIT_ASSERT_EQUAL(std::string("[fd00:2::1]:80"), tracer.outcomes({"fd00:2::7", "fd00:10::41"}));
    CPPUNIT_ASSERT_EQUAL(std::string("[fd00:2::1]:80*"), tracer.outcomes({"2001:db8::7", "fd00:10::41"}));
  }

  void case_11_even_shares() {  // case 11
    ServiceSpec spec;
    spec.endpoints = {e1(), e2(), {"10.180.3.1", 80, false, Condition::kReady}};
    Scene scene({spec});
    for (const auto& [outcome, probability] : scene.rig.tracer().trace(pod(kClusterIp))) {
      CPPUNIT_ASSERT_DOUBLES_EQUAL(1.0 / 3, probability, 1e-6);
    }
  }

  void case_12_interface_detectors() {  // case 12
    ServiceSpec spec;
    spec.endpoints = {e1()};
    NodeSpec facts;
    facts.detector = abi::LocalDetectorKind::kInterfaceNamePrefix;
    facts.detector_interface = "cni";
    Scene scene({spec}, facts);
    scene.expect("10.180.0.1:80", pod(kClusterIp));
    scene.expect("10.180.0.1:80*", outside(kClusterIp));
    scene.expect("10.180.0.1:80*", node(kClusterIp));
  }

  void case_13_to_15_no_endpoints() {  // cases 13-15
    for (const std::vector<EndpointSpec>& endpoints :
         {std::vector<EndpointSpec>{}, std::vector<EndpointSpec>{e1(Condition::kGone)}}) {
      Scene scene({everything(endpoints)});
      for (const auto from : {pod, node, outside}) scene.expect("REJ", from(kClusterIp, 80));
      for (const auto from : {pod, outside}) scene.expect_external("REJ", from);
      scene.expect("PASS", node(kExternalIp));
      scene.expect("PASS", outside("192.168.7.7", 30001));
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, scene.rig.kernel.rules("nat", "KUBE-SERVICES").size());
    }
  }

  void case_19_external_policy_cluster() {  // case 19
    Scene scene({everything({e1(), e2()})});
    for (const auto from : {pod, node, outside}) scene.expect_external("10.180.0.1:80* 10.180.2.1:80*", from);
  }

  void case_20_to_22_external_policy_local() {  // cases 20-22
    ServiceSpec spec = everything({e1(), e2()});
    spec.external_local = true;
    Scene scene({spec});
    scene.expect_external("10.180.0.1:80", outside);
    scene.expect_external("10.180.0.1:80 10.180.2.1:80", pod);
    scene.expect_external("10.180.0.1:80* 10.180.2.1:80*", node);
  }

  void case_23_no_local_endpoint() {  // case 23
    ServiceSpec spec = everything({e2()});
    spec.external_local = true;
    Scene scene({spec});
    scene.expect_external("DROP", outside);
    scene.expect_external("10.180.2.1:80", pod);
    scene.expect_external("10.180.2.1:80*", node);
    scene.expect("10.180.2.1:80", pod(kClusterIp));
  }

  void case_24_no_endpoint_anywhere() {  // case 24
    ServiceSpec spec = everything({});
    spec.external_local = true;
    Scene scene({spec});
    scene.expect_external("REJ", outside);
    scene.expect_external("REJ", pod);
    scene.expect("REJ", pod(kClusterIp));
  }

  void case_25_no_detector() {  // case 25
    ServiceSpec spec = everything({e1(), e2()});
    spec.external_local = true;
    NodeSpec facts;
    facts.detector = abi::LocalDetectorKind::kNone;
    Scene scene({spec}, facts);
    scene.expect("10.180.0.1:80", pod(kVip));
    spec.endpoints = {e2()};
    Scene({spec}, facts).expect("DROP", pod(kVip));
  }

  void case_27_to_30_internal_policy_local() {  // cases 27, 28, 30
    ServiceSpec spec = everything({e1(), e2()});
    spec.internal_local = true;
    Scene scene({spec});
    scene.expect("10.180.0.1:80", pod(kClusterIp));
    scene.expect("10.180.0.1:80*", node(kClusterIp));
    scene.expect_external("10.180.0.1:80* 10.180.2.1:80*", outside);
    spec.endpoints = {e2()};
    Scene remote({spec});
    remote.expect("DROP", pod(kClusterIp));
    remote.expect_external("10.180.2.1:80*", outside);
    spec.endpoints.clear();
    Scene({spec}).expect("REJ", pod(kClusterIp));
  }

  void case_31_one_local_of_two() {  // case 31
    ServiceSpec spec = everything({e1(), e2()});
    spec.external_local = true;
    Scene scene({spec});
    const iptables::ServicePlan made = plan(spec);
    CPPUNIT_ASSERT_EQUAL(std::size_t{5}, made.chains.size());
    scene.expect("10.180.0.1:80 10.180.2.1:80", pod(kClusterIp));
  }

  void case_32_health_check_port() {  // case 32
    ServiceSpec spec = everything({});
    spec.external_local = true;
    spec.health_check_node_port = 30000;
    Scene scene({spec});
    scene.rig.kernel.foreign("*filter\n-A INPUT -j DROP\nCOMMIT\n");
    scene.expect("PASS", outside("192.168.0.2", 30000));
    scene.expect("DROP", outside("192.168.0.2", 30002));
  }

  void case_33_to_35_terminating_with_policy_cluster() {  // cases 33-35
    const EndpointSpec terminating = {"10.180.0.9", 80, true, Condition::kTerminating};
    Scene({everything({e1(), terminating})}).expect_external("10.180.0.1:80*", outside);
    Scene({everything({terminating, e2(Condition::kTerminating)})})
        .expect_external("10.180.0.9:80* 10.180.2.1:80*", outside);
    Scene({everything({e1(Condition::kGone)})}).expect_external("REJ", outside);
  }

  void case_36_to_39_terminating_with_policy_local() {  // cases 36-39
    ServiceSpec spec = everything({e1(Condition::kTerminating), e2()});
    spec.external_local = true;
    Scene draining({spec});
    draining.expect_external("10.180.0.1:80", outside);
    draining.expect("10.180.2.1:80", pod(kClusterIp));
    spec.endpoints = {e1(Condition::kGone), e2()};
    Scene({spec}).expect_external("DROP", outside);
    spec.endpoints = {e1(Condition::kTerminating), e2(Condition::kTerminating)};
    Scene last({spec});
    last.expect_external("10.180.0.1:80", outside);
    last.expect("10.180.0.1:80 10.180.2.1:80", pod(kClusterIp));
    spec.endpoints = {e2(Condition::kTerminating)};
    Scene remote({spec});
    remote.expect_external("DROP", outside);
    remote.expect("10.180.2.1:80", pod(kClusterIp));
  }

  void case_56_to_61_source_ranges() {  // cases 56-58, 61
    ServiceSpec spec = everything({e1(), e2()});
    spec.source_ranges = {"203.0.113.0/25"};
    Packet blocked = outside(kVip);
    blocked.source = "203.0.113.130";
    Scene scene({spec});
    scene.expect("10.180.0.1:80* 10.180.2.1:80*", outside(kVip));
    scene.expect("DROP", blocked);
    scene.expect("DROP", pod(kVip));
    scene.expect("DROP", node(kVip));
    Packet elsewhere = blocked;
    elsewhere.destination = "192.168.0.2";
    elsewhere.port = 30001;
    scene.expect("10.180.0.1:80* 10.180.2.1:80*", elsewhere);
    elsewhere.destination = kExternalIp;
    elsewhere.port = 80;
    scene.expect("10.180.0.1:80* 10.180.2.1:80*", elsewhere);

    spec.source_ranges.emplace_back("192.168.0.0/24");
    Scene with_node({spec});
    with_node.expect("10.180.0.1:80* 10.180.2.1:80*", node(kVip));
    Packet itself = node(kVip);
    itself.source = kVip;
    with_node.expect("10.180.0.1:80* 10.180.2.1:80*", itself);
    with_node.expect("DROP", pod(kVip));

    spec.external_local = true;
    spec.source_ranges = {"203.0.113.0/25", "10.0.0.0/8"};
    spec.endpoints = {e2()};
    Scene local({spec});
    local.expect("DROP", blocked);
    local.expect("DROP", outside(kVip));
    local.expect("10.180.2.1:80", pod(kVip));
  }

  void case_63_to_66_node_port_addresses() {  // cases 63-66
    const ServiceSpec spec = everything({e1()});
    Packet loopback = node("127.0.0.1", 30001);
    loopback.source = "127.0.0.1";
    Scene all({spec});
    all.expect("10.180.0.1:80*", outside("192.168.0.2", 30001));
    all.expect("10.180.0.1:80*", outside("192.168.1.2", 30001));
    all.expect("10.180.0.1:80*", loopback);
    all.expect("PASS", outside("10.0.0.77", 30001));
    NodeSpec facts;
    facts.flags = abi::kNodePortsMatchAll;
    Scene({spec}, facts).expect("PASS", loopback);
    facts.flags = 0;
    facts.node_port_addresses = {"192.168.0.2"};
    Scene one({spec}, facts);
    one.expect("10.180.0.1:80*", outside("192.168.0.2", 30001));
    one.expect("PASS", outside("192.168.1.2", 30001));
    one.expect("PASS", loopback);
    facts.flags = abi::kNodePortsOnLocalhost;
    facts.node_port_addresses = {"127.0.0.1", "192.168.0.2"};
    Scene two({spec}, facts);
    two.expect("10.180.0.1:80*", loopback);
    two.expect("PASS", outside("192.168.1.2", 30001));
  }

  void case_71_service_address_wins_over_node_port() {  // case 71
    ServiceSpec by_port = everything({e1()});
    ServiceSpec by_address;
    by_address.name = "svc2";
    by_address.cluster_ip = "172.30.0.42";
    by_address.port = 30001;
    by_address.external_ips = {"192.168.0.2"};
    by_address.endpoints = {e2()};
    for (const auto& order : {std::vector{by_port, by_address}, std::vector{by_address, by_port}}) {
      Scene(order).expect("10.180.2.1:80*", outside("192.168.0.2", 30001));
    }
    Scene scene({by_port});
    scene.expect("10.180.0.1:80*", outside("192.168.0.2", 30001));
    CPPUNIT_ASSERT(scene.rig.delta({by_address}) == abi::Code::kOk);
    scene.expect("10.180.2.1:80*", outside("192.168.0.2", 30001));
  }

  void case_72_loopback_stays_closed() {  // case 72
    Scene scene({everything({e1()})});
    scene.expect("DROP", outside("127.0.0.1", 9999));
    Packet own = node("127.0.0.1", 9999);
    own.source = "127.0.0.1";
    scene.expect("PASS", own);
  }

  void case_73_to_76_affinity() {  // cases 73, 74, 76
    ServiceSpec spec = everything({e1(), e2()});
    spec.affinity_seconds = 10800;
    spec.external_local = true;
    Scene scene({spec});
    Tracer tracer = scene.rig.tracer();
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80 10.180.2.1:80"), tracer.outcomes(pod(kClusterIp)));
    tracer.remember("KUBE-SEP-ZX7GRIZKSNUQ3LAJ", "10.0.0.2");
    tracer.remember("KUBE-SEP-ZX7GRIZKSNUQ3LAJ", "203.0.113.2");
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.2.1:80"), tracer.outcomes(pod(kClusterIp)));
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.2.1:80"), tracer.outcomes(pod(kVip)));
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80"), tracer.outcomes(outside(kVip)));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(DecisionTest);

}  // namespace decision_test
}  // namespace sluice::test
