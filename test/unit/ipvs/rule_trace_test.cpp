// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The path of packets: rules, sets and virtual servers together (BEH 6.6, 12.A, C, F, G with the results of ipvs
// mode).
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <optional>

#include "plugins/ipvs/plan.hpp"
#include "plugins/ipvs/rules/rule_plan.hpp"
#include "sluice/sdk/address.hpp"
#include "test/unit/common/tracer.hpp"
#include "test/unit/common/world.hpp"
#include "test/unit/ipvs/rule_text.hpp"

namespace sluice::test {
namespace rule_trace_test {

constexpr const char* kNode = "192.168.0.2";
constexpr const char* kOutside = "203.0.113.7";
constexpr const char* kPod = "10.180.0.9";  // of this node
const EndpointSpec kLocal{"10.180.0.1", 80, true, Condition::kReady};
const EndpointSpec kRemote{"10.180.2.1", 80, false, Condition::kReady};

// A node in ipvs mode with everything a plan needs.
class Node {
 public:
  explicit Node(const std::vector<ServiceSpec>& services, NodeSpec spec = {}) {
    constexpr abi::Family family = abi::Family::kIpv4;
    spec.local_addresses = {kNode};
    World world(family);
    ipvs::Settings settings;
    const abi::NodeFacts& node = world.node(spec);
    const ipvs::PlanFacts facts = ipvs::plan_facts(family, node, settings);
    std::uint32_t filled = 0;
    std::set<ipvs::ServerKey> closed;
    std::map<std::string, std::set<std::string>> sets;
    for (const ipvs::SetId set : ipvs::all_sets()) sets[ipvs::set_name(set, family)];
    std::map<std::string, std::vector<std::string>> servers;
    for (const ServiceSpec& service : services) {
      const ipvs::ServicePlan plan = ipvs::plan_service(facts, world.service(service));
      for (const ipvs::SetItem& item : plan.items) {
        filled |= 1u << static_cast<unsigned>(item.set);
        sets[ipvs::set_name(item.set, family)].insert(ipvs::to_string(item.entry, ipvs::spec(item.set).type, family));
      }
      for (const abi::Address& address : plan.addresses) {
        local_.insert(sdk::to_string(address, family));
        filled |= bits({ipvs::SetId::kIpvsAddresses});
        sets["KUBE-IPVS-IPS"].insert(sdk::to_string(address, family));
      }
      for (const ipvs::WantedServer& wanted : plan.servers) {
        std::string key = ipvs::to_string(wanted.server.key, family);
        std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
        std::vector<std::string>& real = servers[key];
        if (!wanted.real) continue;
        for (const ipvs::RealServer& each : *wanted.real) real.push_back(ipvs::to_string(each, family));
      }
      closed.insert(plan.closed.begin(), plan.closed.end());
    }
    write(ipvs::plan_rules(ipvs::rule_facts(family, node, true), filled, closed));
    tracer_.emplace(tables_, local_);
    for (const auto& [name, entries] : sets) tracer_->add_set(name, entries);
    for (const auto& [key, real] : servers) tracer_->add_server(key, real);
  }

  std::string from(const std::string& source, const std::string& to, int port, const std::string& protocol = "tcp") {
    return tracer_->outcomes({source, to, protocol, port, source.starts_with("10.180.0.") ? "veth0" : "eth0"});
  }
  // A process of the node. A connection to an address of the node has the same address as its source.
  std::string itself(const std::string& to, int port, const std::string& protocol = "tcp") {
    return tracer_->outcomes({to.starts_with("127.") ? "127.0.0.1" : to, to, protocol, port, ""});
  }
  std::string itself_from(const std::string& source, const std::string& to, int port) {
    return tracer_->outcomes({source, to, "tcp", port, ""});
  }

 private:
  void write(const ipvs::RulePlan& plan) {
    for (const char* chain : {"INPUT", "FORWARD", "OUTPUT"}) tables_["filter"][chain];
    for (const char* chain : {"PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"}) tables_["nat"][chain];
    for (const ipvs::RuleChain& chain : plan.chains) {
      tables_[std::string(netfilter::table_name(chain.table))][chain.name] = chain.rules;
    }
    for (const ipvs::RuleJump& jump : plan.jumps) {
      auto& rules = tables_[std::string(netfilter::table_name(jump.table))][std::string(jump.from)];
      rules.insert(rules.begin(), jump.rule);
    }
  }

  TableRules tables_;
  std::set<std::string> local_{kNode};
  std::optional<Tracer> tracer_;
};

ServiceSpec service() {
  ServiceSpec spec;
  spec.endpoints = {kLocal, kRemote};
  return spec;
}

const std::string kBoth = "10.180.0.1:80 10.180.2.1:80";
const std::string kBothMasqueraded = "10.180.0.1:80* 10.180.2.1:80*";

class RuleTraceTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RuleTraceTest);
  CPPUNIT_TEST(cluster_address);
  CPPUNIT_TEST(cluster_address_with_masquerade_all);
  CPPUNIT_TEST(cluster_address_without_a_detector);
  CPPUNIT_TEST(pod_that_reaches_itself);
  CPPUNIT_TEST(no_endpoints);
  CPPUNIT_TEST(other_ports_of_a_service_address);
  CPPUNIT_TEST(node_port);
  CPPUNIT_TEST(node_port_with_policy_local);
  CPPUNIT_TEST(node_port_of_sctp);
  CPPUNIT_TEST(external_address);
  CPPUNIT_TEST(external_address_with_policy_local);
  CPPUNIT_TEST(load_balancer);
  CPPUNIT_TEST(load_balancer_with_policy_local);
  CPPUNIT_TEST(source_ranges);
  CPPUNIT_TEST(source_ranges_with_the_node);
  CPPUNIT_TEST(health_check_node_port);
  CPPUNIT_TEST(traffic_that_is_not_for_services);
  CPPUNIT_TEST_SUITE_END();

  void is(const std::string& expected, const std::string& found) { CPPUNIT_ASSERT_EQUAL(expected, found); }

  void cluster_address() {
    Node node({service()});
    is(kBoth, node.from(kPod, "172.30.0.41", 80));
    is(kBothMasqueraded, node.itself("172.30.0.41", 80));
    is(kBothMasqueraded, node.itself_from(kNode, "172.30.0.41", 80));
    is(kBothMasqueraded, node.from(kOutside, "172.30.0.41", 80));
  }

  void cluster_address_with_masquerade_all() {
    NodeSpec spec;
    spec.flags |= abi::kMasqueradeAll;
    Node node({service()}, spec);
    is(kBothMasqueraded, node.from(kPod, "172.30.0.41", 80));
    is(kBothMasqueraded, node.from(kOutside, "172.30.0.41", 80));
  }

  void cluster_address_without_a_detector() {
    NodeSpec spec;
    spec.detector = abi::LocalDetectorKind::kNone;
    Node node({service()}, spec);
    is(kBoth, node.from(kPod, "172.30.0.41", 80));
    is(kBothMasqueraded, node.itself("172.30.0.41", 80));
    is(kBoth, node.itself_from(kNode, "172.30.0.41", 80));
    is(kBoth, node.from(kOutside, "172.30.0.41", 80));
  }

  void pod_that_reaches_itself() {
    Node node({service()});
    is("10.180.0.1:80* 10.180.2.1:80", node.from("10.180.0.1", "172.30.0.41", 80));
  }

  void no_endpoints() {
    ServiceSpec spec = service();
    spec.endpoints.clear();
    spec.node_port = 30001;
    Node node({spec});
    is("REJ", node.from(kPod, "172.30.0.41", 80));
    is("REJ", node.itself("172.30.0.41", 80));
    is("REJ", node.from(kOutside, kNode, 30001));
  }

  void other_ports_of_a_service_address() {
    ServiceSpec spec = service();
    spec.vips = {"1.2.3.4"};
    spec.external_ips = {"192.168.99.11"};
    Node node({spec});
    for (const char* address : {"172.30.0.41", "1.2.3.4", "192.168.99.11"}) {
      is("REJ", node.from(kPod, address, 22));
      is("REJ", node.from(kOutside, address, 22));
      is("REJ", node.from(kPod, address, 80, "udp"));
    }
    is("PASS", node.from(kOutside, kNode, 22));
  }

  void node_port() {
    ServiceSpec spec = service();
    spec.node_port = 30001;
    Node node({spec});
    is(kBothMasqueraded, node.from(kOutside, kNode, 30001));
    is(kBothMasqueraded, node.from(kPod, kNode, 30001));
    is(kBothMasqueraded, node.itself(kNode, 30001));
    is("PASS", node.itself("127.0.0.1", 30001));
    is("PASS", node.from(kOutside, kNode, 30001, "udp"));
    is("REJ", node.from(kOutside, "172.30.0.41", 30001));
  }

  // Case 122.
  void node_port_with_policy_local() {
    ServiceSpec spec = service();
    spec.node_port = 30001;
    spec.external_local = true;
    Node node({spec});
    is("10.180.0.1:80", node.from(kOutside, kNode, 30001));
    is("10.180.0.1:80", node.from(kPod, kNode, 30001));
    spec.endpoints = {kRemote};
    is("10.180.2.1:80", Node({spec}).from(kOutside, kNode, 30001));
  }

  // Case 123.
  void node_port_of_sctp() {
    ServiceSpec spec = service();
    spec.protocol = abi::Protocol::kSctp;
    spec.node_port = 30001;
    is(kBothMasqueraded, Node({spec}).from(kOutside, kNode, 30001, "sctp"));
    spec.external_local = true;
    is("10.180.0.1:80", Node({spec}).from(kOutside, kNode, 30001, "sctp"));
    is("PASS", Node({spec}).from(kOutside, kNode, 30001));
  }

  void external_address() {
    ServiceSpec spec = service();
    spec.external_ips = {"192.168.99.11"};
    Node node({spec});
    is(kBothMasqueraded, node.from(kOutside, "192.168.99.11", 80));
    is(kBothMasqueraded, node.from(kPod, "192.168.99.11", 80));
    is(kBothMasqueraded, node.itself("192.168.99.11", 80));
  }

  void external_address_with_policy_local() {
    ServiceSpec spec = service();
    spec.external_ips = {"192.168.99.11"};
    spec.external_local = true;
    Node node({spec});
    is("10.180.0.1:80", node.from(kOutside, "192.168.99.11", 80));
    is("10.180.0.1:80", node.from(kPod, "192.168.99.11", 80));
  }

  void load_balancer() {
    ServiceSpec spec = service();
    spec.vips = {"1.2.3.4"};
    Node node({spec});
    is(kBothMasqueraded, node.from(kOutside, "1.2.3.4", 80));
    is(kBothMasqueraded, node.from(kPod, "1.2.3.4", 80));
    is(kBothMasqueraded, node.itself("1.2.3.4", 80));
  }

  void load_balancer_with_policy_local() {
    ServiceSpec spec = service();
    spec.vips = {"1.2.3.4"};
    spec.external_local = true;
    Node node({spec});
    is("10.180.0.1:80", node.from(kOutside, "1.2.3.4", 80));
    is("10.180.0.1:80", node.from(kPod, "1.2.3.4", 80));
  }

  // Case 123: no range contains the node. Its packets to a load balancer have that address as their source.
  void source_ranges() {
    ServiceSpec spec = service();
    spec.vips = {"1.2.3.4"};
    spec.source_ranges = {"203.0.113.0/28"};
    spec.node_port = 30001;
    Node node({spec});
    is(kBothMasqueraded, node.from(kOutside, "1.2.3.4", 80));
    is("DROP", node.from("203.0.113.99", "1.2.3.4", 80));
    is("DROP", node.from(kPod, "1.2.3.4", 80));
    is("DROP", node.itself("1.2.3.4", 80));
    is(kBoth, node.from(kPod, "172.30.0.41", 80));
    is(kBothMasqueraded, node.from("203.0.113.99", kNode, 30001));  // BEH 6.6: node ports are not filtered
  }

  void source_ranges_with_the_node() {
    ServiceSpec spec = service();
    spec.vips = {"1.2.3.4"};
    spec.source_ranges = {"192.168.0.0/24"};
    Node node({spec});
    is(kBothMasqueraded, node.itself("1.2.3.4", 80));
    is("DROP", node.from(kOutside, "1.2.3.4", 80));
  }

  void health_check_node_port() {
    ServiceSpec spec = service();
    spec.vips = {"1.2.3.4"};
    spec.external_local = true;
    spec.health_check_node_port = 32000;
    Node node({spec});
    is("PASS", node.from(kOutside, kNode, 32000));
    is("PASS", node.from(kOutside, "1.2.3.4", 32000));
    is("REJ", node.from(kOutside, "1.2.3.4", 32001));
  }

  void traffic_that_is_not_for_services() {
    Node node({service()});
    is("PASS", node.from(kPod, kOutside, 80));
    is("PASS", node.from(kOutside, kPod, 80));
    is("PASS", node.itself_from(kNode, kOutside, 80));
    is("PASS", node.itself("127.0.0.1", 80));
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(RuleTraceTest);

}  // namespace rule_trace_test
}  // namespace sluice::test
