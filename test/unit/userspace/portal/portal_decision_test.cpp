// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Traces packets through the written rules. Numbers are those of the conformance cases in the behaviour reference, 12 A
// to G. The cluster listener has port 40001, the local one 40002.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "test/unit/userspace/portal/portal_rig.hpp"

namespace sluice::test {
namespace portal_decision_test {

constexpr char kClusterIp[] = "172.30.0.41";
constexpr char kExternalIp[] = "192.168.99.11";
constexpr char kVip[] = "1.2.3.4";
constexpr char kCluster[] = ":40001";
constexpr char kLocal[] = ":40002";

Packet pod(const std::string& to, int port = 80) { return {"10.0.0.2", to, "tcp", port, "cni0"}; }
Packet node(const std::string& to, int port = 80) { return {"192.168.0.2", to, "tcp", port, ""}; }
Packet outside(const std::string& to, int port = 80) { return {"203.0.113.2", to, "tcp", port, "eth0"}; }
Packet blocked(const std::string& to, int port = 80) { return {"203.0.113.130", to, "tcp", port, "eth0"}; }

const EndpointSpec kHere{"10.180.0.1", 80, true, Condition::kReady};
const EndpointSpec kThere{"10.180.2.1", 80, false, Condition::kReady};

ServiceSpec everything(std::vector<EndpointSpec> endpoints) {
  ServiceSpec spec;
  spec.node_port = 30001;
  spec.external_ips = {kExternalIp};
  spec.vips = {kVip};
  spec.endpoints = std::move(endpoints);
  return spec;
}

class PortalDecisionTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PortalDecisionTest);
  CPPUNIT_TEST(case_1_2_6_cluster_ip);
  CPPUNIT_TEST(case_19_external_policy_cluster);
  CPPUNIT_TEST(case_20_to_22_external_policy_local);
  CPPUNIT_TEST(case_23_39_no_local_endpoint);
  CPPUNIT_TEST(case_13_24_130_no_endpoint_anywhere);
  CPPUNIT_TEST(case_18_source_ranges_without_endpoints);
  CPPUNIT_TEST(case_25_no_detector);
  CPPUNIT_TEST(case_27_28_30_internal_policy_local);
  CPPUNIT_TEST(case_32_health_check_port);
  CPPUNIT_TEST(case_37_38_terminating);
  CPPUNIT_TEST(case_56_to_58_source_ranges);
  CPPUNIT_TEST(case_61_source_ranges_and_policy_local);
  CPPUNIT_TEST(proxy_ports_cannot_bypass_source_ranges);
  CPPUNIT_TEST(packets_for_another_backend_are_dropped_only_if_unserved);
  CPPUNIT_TEST(case_63_to_66_node_port_addresses);
  CPPUNIT_TEST(case_71_service_address_wins_over_node_port);
  CPPUNIT_TEST(external_addresses_from_bridge_ports);
  CPPUNIT_TEST(the_relay_reaches_an_endpoint_with_the_address_of_a_service);
  CPPUNIT_TEST_SUITE_END();

  struct Scene : PortalRig {
    explicit Scene(const std::vector<ServiceSpec>& services, const NodeSpec& spec = {}) : PortalRig(spec) {
      full(services);
    }
    void expect_external(const std::string& outcomes, Packet (*from)(const std::string&, int)) const {
      expect(outcomes, from(kExternalIp, 80));
      expect(outcomes, from(kVip, 80));
      expect(outcomes, from("192.168.0.2", 30001));
    }
  };

  void case_1_2_6_cluster_ip() {
    ServiceSpec spec;
    spec.endpoints = {kHere, kThere};
    const Scene scene({spec});
    for (const auto from : {pod, node, outside}) scene.expect(kCluster, from(kClusterIp, 80));
    scene.expect("PASS", pod(kClusterIp, 81));
    Packet udp = pod(kClusterIp);
    udp.protocol = "udp";
    scene.expect("PASS", udp);
  }

  void case_19_external_policy_cluster() {
    Scene scene({everything({kHere, kThere})});
    for (const auto from : {pod, node, outside}) scene.expect_external(kCluster, from);
  }

  void case_20_to_22_external_policy_local() {
    ServiceSpec spec = everything({kHere, kThere});
    spec.external_local = true;
    Scene scene({spec});
    scene.expect_external(kLocal, outside);
    scene.expect_external(kCluster, pod);
    scene.expect_external(kCluster, node);
    for (const auto from : {pod, node, outside}) scene.expect(kCluster, from(kClusterIp, 80));
  }

  void case_23_39_no_local_endpoint() {
    for (const Condition condition : {Condition::kReady, Condition::kTerminating}) {
      ServiceSpec spec = everything({{"10.180.2.1", 80, false, condition}});
      spec.external_local = true;
      Scene scene({spec});
      scene.expect_external("DROP", outside);
      scene.expect_external(kCluster, pod);
      scene.expect_external(kCluster, node);
      for (const auto from : {pod, node, outside}) scene.expect(kCluster, from(kClusterIp, 80));
      scene.expect("PASS", outside("192.168.5.5", 30001));  // routed to another host
    }
  }

  void case_13_24_130_no_endpoint_anywhere() {
    ServiceSpec spec = everything({});
    ServiceSpec local = spec;
    local.external_local = local.internal_local = true;
    ServiceSpec gone = local;
    gone.endpoints = {{"10.180.0.1", 80, true, Condition::kGone}};
    for (const ServiceSpec& one : {spec, local, gone}) {
      Scene scene({one});
      for (const auto from : {pod, node, outside}) scene.expect("REJ", from(kClusterIp, 80));
      for (const auto from : {pod, outside}) scene.expect_external("REJ", from);
      // Case 13: packets from the node to an external address leave the node, unless it has the address.
      scene.expect("REJ", node("192.168.0.2", 30001));
      scene.expect("PASS", node(kExternalIp));
      scene.expect("PASS", node(kVip));
      scene.expect("PASS", outside("192.168.5.5", 30001));  // case 15: routed to another host
      scene.local.insert({kExternalIp, kVip});
      for (const auto from : {pod, node, outside}) scene.expect_external("REJ", from);
    }
  }

  void case_18_source_ranges_without_endpoints() {
    ServiceSpec spec = everything({});
    spec.source_ranges = {"203.0.113.0/25"};
    const Scene scene({spec});
    for (const auto from : {pod, outside, blocked}) scene.expect("REJ", from(kVip, 80));
  }

  void case_25_no_detector() {
    NodeSpec none;
    none.detector = abi::LocalDetectorKind::kNone;
    ServiceSpec spec = everything({kHere, kThere});
    spec.external_local = true;
    Scene scene({spec}, none);
    scene.expect_external(kLocal, pod);
    scene.expect_external(kCluster, node);
    spec.endpoints = {kThere};
    Scene without({spec}, none);
    without.expect_external("DROP", pod);
    without.expect_external(kCluster, node);
  }

  void case_27_28_30_internal_policy_local() {
    ServiceSpec spec = everything({kHere, kThere});
    spec.internal_local = true;
    Scene scene({spec});
    for (const auto from : {pod, node, outside}) scene.expect(kLocal, from(kClusterIp, 80));
    for (const auto from : {pod, node, outside}) scene.expect_external(kCluster, from);
    spec.endpoints = {kThere};
    Scene without({spec});
    for (const auto from : {pod, node, outside}) without.expect("DROP", from(kClusterIp, 80));
    for (const auto from : {pod, node, outside}) without.expect_external(kCluster, from);
  }

  void case_32_health_check_port() {
    for (const bool has_endpoint : {false, true}) {
      ServiceSpec spec = everything(has_endpoint ? std::vector<EndpointSpec>{kHere} : std::vector<EndpointSpec>());
      spec.external_local = true;
      spec.health_check_node_port = 30000;
      Scene scene({spec});
      scene.kernel.foreign("*filter\n-A INPUT -j DROP\nCOMMIT\n");
      scene.expect("PASS", outside("192.168.0.2", 30000));
      scene.expect("DROP", outside("192.168.0.2", 30002));
      scene.expect(has_endpoint ? kLocal : "REJ", outside("192.168.0.2", 30001));  // accepted by its proxy port
    }
  }

  void case_37_38_terminating() {
    ServiceSpec spec = everything({{"10.180.0.1", 80, true, Condition::kGone}, kThere});
    spec.external_local = true;
    Scene(std::vector<ServiceSpec>{spec}).expect_external("DROP", outside);
    spec.endpoints = {{"10.180.0.1", 80, true, Condition::kTerminating}};
    Scene(std::vector<ServiceSpec>{spec}).expect_external(kLocal, outside);
  }

  void case_56_to_58_source_ranges() {
    ServiceSpec spec = everything({kHere, kThere});
    spec.source_ranges = {"203.0.113.0/25"};
    Scene scene({spec});
    scene.expect(kCluster, outside(kVip));
    scene.expect("DROP", blocked(kVip));
    scene.expect("DROP", pod(kVip));
    scene.expect("DROP", node(kVip));
    for (const auto& to : {std::pair(kClusterIp, 80), {kExternalIp, 80}, {"192.168.0.2", 30001}}) {
      scene.expect(kCluster, blocked(to.first, to.second));
    }
    spec.source_ranges.push_back("192.168.0.0/24");
    Scene with_node({spec});
    with_node.expect(kCluster, node(kVip));
    with_node.expect("DROP", pod(kVip));
    Packet itself = node(kVip);
    itself.source = kVip;
    with_node.expect(kCluster, itself);
    scene.expect("DROP", itself);
  }

  void case_61_source_ranges_and_policy_local() {
    ServiceSpec spec = everything({kThere});
    spec.external_local = true;
    spec.source_ranges = {"203.0.113.0/25", "10.0.0.0/16"};
    Scene scene({spec});
    scene.expect("DROP", blocked(kVip));
    scene.expect("DROP", outside(kVip));
    scene.expect(kCluster, pod(kVip));
    Packet other_pod = pod(kVip);
    other_pod.source = "10.1.0.2";
    scene.expect("DROP", other_pod);
    spec.endpoints = {kHere};
    Scene with_local({spec});
    with_local.expect(kLocal, outside(kVip));
    with_local.expect("DROP", blocked(kVip));
    with_local.expect(kCluster, pod(kVip));
    with_local.expect("DROP", node(kVip));
    ServiceSpec for_node = spec;
    for_node.source_ranges.push_back("192.168.0.0/24");
    Scene with_node({for_node});
    with_node.expect(kCluster, node(kVip));
    NodeSpec by_interface;
    by_interface.detector = abi::LocalDetectorKind::kInterfaceNamePrefix;
    by_interface.detector_interface = "cni";
    Scene with_interface({spec}, by_interface);
    with_interface.expect(kCluster, pod(kVip));
    with_interface.expect("DROP", other_pod);
    with_interface.expect(kLocal, outside(kVip));
  }

  void proxy_ports_cannot_bypass_source_ranges() {
    ServiceSpec spec;
    spec.endpoints = {kHere};
    spec.vips = {kVip};
    Scene open({spec});
    open.expect("PASS", outside("192.168.0.2", 40001));
    spec.source_ranges = {"203.0.113.0/25"};
    Scene scene({spec});
    scene.expect("DROP", outside("192.168.0.2", 40001));
    scene.expect("DROP", blocked("192.168.0.2", 40001));
    scene.expect(kCluster, outside(kVip));
  }

  // A new backend has begun to serve: packets that it handles reach the filter table untranslated.
  void packets_for_another_backend_are_dropped_only_if_unserved() {
    const auto followed = [](const ServiceSpec& spec, const NodeSpec& node_spec = {}) {
      Scene scene({spec}, node_spec);
      scene.kernel.foreign("*nat\n-I PREROUTING -j ACCEPT\n-I OUTPUT -j ACCEPT\nCOMMIT\n");
      scene.local.insert({kVip, kExternalIp});
      return scene.kernel.tables;
    };
    const auto expect = [](const std::string& outcome, const TableRules& tables, const Packet& packet) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(packet.source + " to " + packet.destination, outcome,
                                   Tracer(tables, {"192.168.0.2", "192.168.1.2", kVip, kExternalIp}).outcomes(packet));
    };
    Packet other_pod = pod(kVip);
    other_pod.source = "10.1.0.2";
    ServiceSpec spec = everything({kHere, kThere});
    spec.source_ranges = {"203.0.113.0/25", "10.0.0.0/16", "192.168.0.0/24"};
    for (const bool local : {false, true}) {
      spec.external_local = local;
      const TableRules tables = followed(spec);
      for (const Packet& packet : {outside(kVip), pod(kVip), node(kVip)}) expect("PASS", tables, packet);
      expect("DROP", tables, blocked(kVip));
      expect("DROP", tables, other_pod);
    }
    // Policy Local without local endpoints: pods and processes of the node may use endpoints of other nodes.
    spec.endpoints = {kThere};
    NodeSpec by_interface;
    by_interface.detector = abi::LocalDetectorKind::kInterfaceNamePrefix;
    by_interface.detector_interface = "cni";
    for (const NodeSpec& node_spec : {NodeSpec{}, by_interface}) {
      const TableRules restricted = followed(spec, node_spec);
      for (const Packet& packet : {pod(kVip), node(kVip)}) expect("PASS", restricted, packet);
      for (const Packet& packet : {outside(kVip), blocked(kVip), other_pod}) expect("DROP", restricted, packet);
      ServiceSpec open = spec;
      open.source_ranges.clear();
      const TableRules unrestricted = followed(open, node_spec);
      for (const auto& [to, port] : {std::pair(kVip, 80), {kExternalIp, 80}, {"192.168.0.2", 30001}}) {
        expect("PASS", unrestricted, pod(to, port));
        expect("PASS", unrestricted, node(to, port));
        expect("DROP", unrestricted, outside(to, port));
      }
    }
  }

  void case_63_to_66_node_port_addresses() {
    const std::vector<ServiceSpec> services = {everything({kHere})};
    const Scene all(services);
    all.expect(kCluster, outside("192.168.1.2", 30001));
    all.expect(kCluster, node("127.0.0.1", 30001));
    all.expect("PASS", outside("10.180.0.9", 30001));
    NodeSpec spec;
    spec.flags = abi::kNodePortsMatchAll;
    const Scene no_localhost(services, spec);
    no_localhost.expect("PASS", node("127.0.0.1", 30001));
    no_localhost.expect(kCluster, outside("192.168.0.2", 30001));
    spec.flags = abi::kNodePortsOnLocalhost;
    spec.node_port_addresses = {"192.168.0.2"};
    const Scene one(services, spec);
    one.expect(kCluster, outside("192.168.0.2", 30001));
    one.expect("PASS", outside("192.168.1.2", 30001));
    one.expect("PASS", node("127.0.0.1", 30001));
    spec.node_port_addresses = {"127.0.0.1", "192.168.0.2"};
    const Scene two(services, spec);
    two.expect(kCluster, node("127.0.0.1", 30001));
    two.expect(kCluster, outside("192.168.0.2", 30001));
  }

  void case_71_service_address_wins_over_node_port() {
    ServiceSpec other;
    other.endpoints = {kHere};
    other.name = "other";
    other.cluster_ip = "172.30.0.42";
    other.node_port = 80;
    ServiceSpec spec;
    spec.endpoints = {kHere};
    spec.external_ips = {"192.168.0.2"};
    PortalRig rig;
    std::vector<userspace::Portal> portals = {portal(other, rig.facts, {41001, 0}), portal(spec, rig.facts)};
    rig.writer->write_full(userspace::fixed_rules(rig.facts), portals);
    rig.expect(kCluster, outside("192.168.0.2", 80));
    rig.expect(kCluster, node("192.168.0.2", 80));
    rig.expect(":41001", outside("192.168.1.2", 80));
  }

  void external_addresses_from_bridge_ports() {
    ServiceSpec spec = everything({kHere});
    Scene scene({spec});
    for (const char* const address : {kExternalIp, kVip}) {
      Packet from_bridge = pod(address);
      from_bridge.from_bridge_port = true;
      scene.expect(kCluster, from_bridge);
      scene.expect(kCluster, node(address));  // not an address of the node
    }
    spec.external_local = true;
    spec.endpoints = {kThere};
    Scene without({spec});
    Packet from_bridge = pod(kExternalIp);
    from_bridge.from_bridge_port = true;
    without.expect(kCluster, from_bridge);
    without.expect("DROP", outside(kExternalIp));
    without.local.insert(kExternalIp);
    without.expect(kCluster, from_bridge);
    without.expect(kCluster, node(kExternalIp));
    without.expect("DROP", outside(kExternalIp));
  }

  void the_relay_reaches_an_endpoint_with_the_address_of_a_service() {
    const auto relayed = [](Packet packet, unsigned mark) {
      packet.mark = mark;
      return packet;
    };
    ServiceSpec spec = everything({kHere});
    spec.node_port = 8080;
    NodeSpec moved;
    moved.mark = 0x1000;
    for (const std::string protocol : {"tcp", "udp"}) {
      spec.protocol = protocol == "tcp" ? abi::Protocol::kTcp : abi::Protocol::kUdp;
      for (const auto& [node_spec, mark] : {std::pair{NodeSpec{}, 0x1000u}, {moved, 0x40u}}) {
        const Scene led({spec}, node_spec);
        ServiceSpec closed = spec;
        closed.source_ranges = {"203.0.113.0/25"};
        const Scene dropped({closed}, node_spec);
        for (const auto& [to, port] :
             {std::pair(kVip, 80), {kExternalIp, 80}, {kClusterIp, 80}, {"192.168.0.2", 8080}}) {
          Packet sent = node(to, port);
          sent.protocol = protocol;
          led.expect("PASS", relayed(sent, mark));
          led.expect("PASS", relayed(sent, mark | 0x8000));
          led.expect(kCluster, sent);
          led.expect(kCluster, relayed(sent, 0x8000 | node_spec.mark));
          if (to == kVip) dropped.expect("PASS", relayed(sent, mark));
          if (to == kVip) dropped.expect("DROP", sent);
          // Other marks of a packet change nothing.
          Packet arrives = outside(to, port);
          arrives.protocol = protocol;
          led.expect(kCluster, relayed(arrives, mark));
        }
      }
    }
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(PortalDecisionTest);

}  // namespace portal_decision_test
}  // namespace sluice::test
