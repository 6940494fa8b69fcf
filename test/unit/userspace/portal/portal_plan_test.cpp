// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The exact text of rules for each frontend and policy (BEH 8.1, 8.2).
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>

#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"
#include "test/unit/userspace/portal/portal_rig.hpp"

namespace sluice::test {
namespace portal_plan_test {

const EndpointSpec kHere{"10.180.0.1", 80, true, Condition::kReady};
const EndpointSpec kThere{"10.180.2.1", 80, false, Condition::kReady};

ServiceSpec served() {
  ServiceSpec spec;
  spec.endpoints = {kHere, kThere};
  return spec;
}

class PortalPlanTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PortalPlanTest);
  CPPUNIT_TEST(cluster_ip);
  CPPUNIT_TEST(targets_depend_on_where_the_proxy_listens);
  CPPUNIT_TEST(external_ip);
  CPPUNIT_TEST(load_balancer);
  CPPUNIT_TEST(node_port);
  CPPUNIT_TEST(ipv6_is_like_ipv4);
  CPPUNIT_TEST(different_policies_have_two_listeners);
  CPPUNIT_TEST(without_local_endpoint_clients_are_dropped);
  CPPUNIT_TEST(without_endpoints_clients_are_rejected);
  CPPUNIT_TEST(an_external_ip_does_not_bypass_source_ranges);
  CPPUNIT_TEST(source_ranges);
  CPPUNIT_TEST(health_check_port);
  CPPUNIT_TEST(withheld_frontends_have_no_rules);
  CPPUNIT_TEST(a_listener_without_port_has_no_rules);
  CPPUNIT_TEST(invalid_names_are_rejected);
  CPPUNIT_TEST(listeners_follow_the_policies);
  CPPUNIT_TEST(jumps);
  CPPUNIT_TEST(jumps_for_chosen_addresses);
  CPPUNIT_TEST(facts_show_whether_the_node_has_its_address);
  CPPUNIT_TEST(comments_name_the_listener);
  CPPUNIT_TEST_SUITE_END();

  static void is(const std::string& wanted, const userspace::Portal& made) {
    CPPUNIT_ASSERT_EQUAL(wanted, lines(made));
  }
  // Without the rules of the cluster IP, which most cases do not check.
  static std::string rest(const userspace::Portal& made) {
    std::string text;
    for (const userspace::PortalRule& rule : made.rules) {
      if (rule.rule.find("-d 172.30.0.41/32") != std::string::npos) continue;
      text += rule.chain + " " + rule.rule + "\n";
    }
    return text;
  }

  void cluster_ip() {
    ServiceSpec spec = served();
    is("nat KUBE-PORTALS-CONTAINER -m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 80 -d 172.30.0.41/32 "
       "-j REDIRECT --to-ports 40001\n"
       "nat KUBE-PORTALS-HOST -m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 80 -d 172.30.0.41/32 "
       "-j REDIRECT --to-ports 40001\n",
       portal(spec));
    spec.protocol = abi::Protocol::kUdp;
    spec.port_name = "";
    is("nat KUBE-PORTALS-CONTAINER -m comment --comment ns1/svc1 -p udp -m udp --dport 80 -d 172.30.0.41/32 "
       "-j REDIRECT --to-ports 40001\n"
       "nat KUBE-PORTALS-HOST -m comment --comment ns1/svc1 -p udp -m udp --dport 80 -d 172.30.0.41/32 "
       "-j REDIRECT --to-ports 40001\n",
       portal(spec));
  }

  void targets_depend_on_where_the_proxy_listens() {
    const auto targets = [](const userspace::PortalFacts& facts) {
      std::string text;
      for (const userspace::PortalRule& rule : portal(served(), facts).rules) {
        text += rule.rule.substr(rule.rule.find(" -j ")) + "\n";
      }
      return text;
    };
    userspace::PortalFacts facts = portal_facts();
    CPPUNIT_ASSERT_EQUAL(std::string(" -j REDIRECT --to-ports 40001\n -j REDIRECT --to-ports 40001\n"), targets(facts));
    // Not REDIRECT: if the interface of a pod has no address, the kernel drops its packets.
    facts.host_address = sdk::parse_address("192.168.0.2", abi::Family::kIpv4);
    CPPUNIT_ASSERT_EQUAL(std::string(" -j DNAT --to-destination 192.168.0.2:40001\n"
                                     " -j DNAT --to-destination 192.168.0.2:40001\n"),
                         targets(facts));
    facts.listen_address = sdk::parse_address("192.168.7.7", abi::Family::kIpv4);
    CPPUNIT_ASSERT_EQUAL(std::string(" -j DNAT --to-destination 192.168.7.7:40001\n"
                                     " -j DNAT --to-destination 192.168.7.7:40001\n"),
                         targets(facts));
  }

  void external_ip() {
    ServiceSpec spec = served();
    spec.external_ips = {"192.168.99.11"};
    CPPUNIT_ASSERT_EQUAL(
        std::string("KUBE-PORTALS-CONTAINER -m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 80 "
                    "-d 192.168.99.11/32 -j REDIRECT --to-ports 40001\n"
                    "KUBE-PORTALS-HOST -m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 80 "
                    "-d 192.168.99.11/32 -j REDIRECT --to-ports 40001\n"),
        rest(portal(spec)));
  }

  void load_balancer() {
    ServiceSpec spec = served();
    spec.vips = {"1.2.3.4"};
    CPPUNIT_ASSERT_EQUAL(std::string("KUBE-PORTALS-CONTAINER -m comment --comment ns1/svc1:p80 -p tcp -m tcp "
                                     "--dport 80 -d 1.2.3.4/32 -j REDIRECT --to-ports 40001\n"
                                     "KUBE-PORTALS-HOST -m comment --comment ns1/svc1:p80 -p tcp -m tcp "
                                     "--dport 80 -d 1.2.3.4/32 -j REDIRECT --to-ports 40001\n"),
                         rest(portal(spec)));
  }

  void node_port() {
    ServiceSpec spec = served();
    spec.node_port = 30001;
    CPPUNIT_ASSERT_EQUAL(std::string("KUBE-NODEPORT-CONTAINER -m comment --comment ns1/svc1:p80 -p tcp -m tcp "
                                     "--dport 30001 -j REDIRECT --to-ports 40001\n"
                                     "KUBE-NODEPORT-HOST -m comment --comment ns1/svc1:p80 -p tcp -m tcp "
                                     "--dport 30001 -j REDIRECT --to-ports 40001\n"
                                     "KUBE-NODEPORT-NON-LOCAL -m comment --comment ns1/svc1:p80 -p tcp -m tcp "
                                     "--dport 40001 -m state --state NEW -j ACCEPT\n"),
                         rest(portal(spec)));
  }

  void ipv6_is_like_ipv4() {
    NodeSpec node;
    node.ip = "fd00::2";
    node.detector_cidr = "fd00:10::/64";
    node.local_addresses = {"fd00::2"};
    const userspace::PortalFacts facts = portal_facts(node, abi::Family::kIpv6);
    ServiceSpec spec = served();
    spec.cluster_ip = "fd00:1::41";
    spec.endpoints = {{"fd00:10::1", 80, false, Condition::kReady}};
    spec.vips = {"2001:db8::4"};
    spec.source_ranges = {"2001:db8:1::/48"};
    is("nat KUBE-PORTALS-CONTAINER -m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 80 -d fd00:1::41/128 "
       "-j DNAT --to-destination [fd00::2]:40001\n"
       "nat KUBE-PORTALS-HOST -m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 80 -d fd00:1::41/128 "
       "-j DNAT --to-destination [fd00::2]:40001\n"
       "nat KUBE-PORTALS-CONTAINER -m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 80 -d 2001:db8::4/128 "
       "-s 2001:db8:1::/48 -j DNAT --to-destination [fd00::2]:40001\n"
       "nat KUBE-PORTALS-HOST -m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 80 -d 2001:db8::4/128 "
       "-s 2001:db8:1::/48 -j DNAT --to-destination [fd00::2]:40001\n"
       "filter KUBE-PORTALS-FIREWALL -m comment --comment \"ns1/svc1:p80 is served\" -p tcp -m tcp --dport 80 "
       "-d 2001:db8::4/128 -s 2001:db8:1::/48 -j RETURN\n"
       "filter KUBE-PORTALS-FIREWALL -m comment --comment \"ns1/svc1:p80 is not for this source\" -p tcp -m tcp "
       "--dport 80 -d 2001:db8::4/128 -j DROP\n"
       "filter KUBE-PORTALS-FIREWALL -m comment --comment \"ns1/svc1:p80 is not reached by its proxy port\" -p tcp "
       "-m tcp --dport 40001 -m conntrack ! --ctstate DNAT -j DROP\n",
       portal(spec, facts, {40001, 0}));
  }

  void different_policies_have_two_listeners() {
    ServiceSpec spec = served();
    spec.node_port = 30001;
    spec.external_local = true;
    CPPUNIT_ASSERT_EQUAL(
        std::string("KUBE-NODEPORT-CONTAINER -m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 30001 "
                    "-s 10.0.0.0/8 -j REDIRECT --to-ports 40001\n"
                    "KUBE-NODEPORT-CONTAINER -m comment --comment \"ns1/svc1:p80 local\" -p tcp -m tcp --dport 30001 "
                    "-j REDIRECT --to-ports 40002\n"
                    "KUBE-NODEPORT-HOST -m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 30001 "
                    "-j REDIRECT --to-ports 40001\n"
                    "KUBE-NODEPORT-NON-LOCAL -m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 40001 "
                    "-m state --state NEW -j ACCEPT\n"
                    "KUBE-NODEPORT-NON-LOCAL -m comment --comment \"ns1/svc1:p80 local\" -p tcp -m tcp --dport 40002 "
                    "-m state --state NEW -j ACCEPT\n"),
        rest(portal(spec)));
    NodeSpec bridge;
    bridge.detector = abi::LocalDetectorKind::kBridgeInterface;
    bridge.detector_interface = "cbr0";
    spec.node_port = 0;
    spec.external_ips = {"192.168.99.11"};
    const std::string match = "-p tcp -m tcp --dport 80 -d 192.168.99.11/32 ";
    CPPUNIT_ASSERT_EQUAL("KUBE-PORTALS-CONTAINER -m comment --comment ns1/svc1:p80 " + match +
                             "-i cbr0 -j REDIRECT --to-ports 40001\n"
                             "KUBE-PORTALS-CONTAINER -m comment --comment \"ns1/svc1:p80 local\" " +
                             match +
                             "-j REDIRECT --to-ports 40002\n"
                             "KUBE-PORTALS-HOST -m comment --comment ns1/svc1:p80 " +
                             match + "-j REDIRECT --to-ports 40001\n",
                         rest(portal(spec, portal_facts(bridge))));
    ServiceSpec internal = served();
    internal.internal_local = true;
    is("nat KUBE-PORTALS-CONTAINER -m comment --comment \"ns1/svc1:p80 local\" -p tcp -m tcp --dport 80 "
       "-d 172.30.0.41/32 -j REDIRECT --to-ports 40002\n"
       "nat KUBE-PORTALS-HOST -m comment --comment \"ns1/svc1:p80 local\" -p tcp -m tcp --dport 80 "
       "-d 172.30.0.41/32 -j REDIRECT --to-ports 40002\n",
       portal(internal));
  }

  void without_local_endpoint_clients_are_dropped() {
    ServiceSpec spec = served();
    spec.internal_local = true;
    spec.endpoints = {kThere};
    is("filter KUBE-PORTALS-FIREWALL -m comment --comment \"ns1/svc1:p80 has no local endpoints\" -p tcp -m tcp "
       "--dport 80 -d 172.30.0.41/32 -j DROP\n",
       portal(spec));
    spec.internal_local = false;
    spec.external_local = true;
    spec.external_ips = {"192.168.99.11"};
    spec.vips = {"1.2.3.4"};
    spec.node_port = 30001;
    NodeSpec none;
    none.detector = abi::LocalDetectorKind::kNone;
    const std::string drop =
        "KUBE-PORTALS-FIREWALL -m comment --comment \"ns1/svc1:p80 has no local endpoints\" "
        "-p tcp -m tcp --dport ";
    // Redirected clients: their packets are untranslated if another backend handles them first.
    const std::string served_here =
        "KUBE-PORTALS-FIREWALL -m comment --comment \"ns1/svc1:p80 is served\" -p tcp -m tcp --dport ";
    const std::string from_node = "-m addrtype --src-type LOCAL -j RETURN\n";
    const std::string host = "-m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport ";
    CPPUNIT_ASSERT_EQUAL(
        "KUBE-PORTALS-HOST " + host +
            "80 -d 192.168.99.11/32 -j REDIRECT --to-ports 40001\n" + served_here + "80 -d 192.168.99.11/32 " +
            from_node + drop +
            "80 -d 192.168.99.11/32 -j DROP\n"
            "KUBE-PORTALS-HOST " +
            host + "80 -d 1.2.3.4/32 -j REDIRECT --to-ports 40001\n" + served_here + "80 -d 1.2.3.4/32 " + from_node + drop +
            "80 -d 1.2.3.4/32 -j DROP\n"
            "KUBE-NODEPORT-HOST " +
            host +
            "30001 -j REDIRECT --to-ports 40001\n"
            "KUBE-NODEPORT-NON-LOCAL " +
            host + "40001 -m state --state NEW -j ACCEPT\n" + served_here + "30001 -m addrtype --dst-type LOCAL " +
            from_node + drop + "30001 -m addrtype --dst-type LOCAL -j DROP\n",
        rest(portal(spec, portal_facts(none))));
  }

  void without_endpoints_clients_are_rejected() {
    const std::string none =
        "KUBE-PORTALS-FIREWALL -m comment --comment \"ns1/svc1:p80 has no endpoints\" -p tcp -m tcp --dport ";
    const std::string left_alone = " -m addrtype --src-type LOCAL ! --dst-type LOCAL -j RETURN\n";
    std::string all = "filter " + none + "80 -d 172.30.0.41/32 -j REJECT\n";
    for (const char* const address : {"192.168.99.11/32", "1.2.3.4/32"}) {
      all += "filter " + none + "80 -d " + address + left_alone;
      all += "filter " + none + "80 -d " + address + " -j REJECT\n";
    }
    all += "filter " + none + "30001 -m addrtype --dst-type LOCAL -j REJECT\n";
    ServiceSpec spec;
    spec.external_ips = {"192.168.99.11"};
    spec.vips = {"1.2.3.4"};
    spec.node_port = 30001;
    spec.source_ranges = {"203.0.113.0/25"};
    is(all, portal(spec));
    is(all, portal(spec, portal_facts(), {0, 0}));
    spec.internal_local = spec.external_local = true;
    is(all, portal(spec));
    spec.endpoints = {{"10.180.0.1", 80, true, Condition::kGone}};
    is(all, portal(spec));
    // The node's address does not matter, nor which addresses serve node ports: as in iptables mode.
    NodeSpec node;
    node.flags = 0;
    node.node_port_addresses = {"192.168.0.2"};
    is(all, portal(spec, portal_facts(node)));
  }

  void an_external_ip_does_not_bypass_source_ranges() {
    ServiceSpec spec = served();
    spec.vips = {"1.2.3.4"};
    spec.source_ranges = {"203.0.113.0/25"};
    const std::string without = lines(portal(spec));
    spec.external_ips = {"1.2.3.4"};
    CPPUNIT_ASSERT_EQUAL(without, lines(portal(spec)));
  }

  void source_ranges() {
    ServiceSpec spec = served();
    spec.vips = {"1.2.3.4"};
    spec.source_ranges = {"203.0.113.0/25", "192.168.0.0/24"};  // the second contains the node
    const std::string match = "-m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 80 -d 1.2.3.4/32 -s ";
    const std::string to = " -j REDIRECT --to-ports 40001\n";
    const std::string container = "KUBE-PORTALS-CONTAINER " + match;
    const std::string host = "KUBE-PORTALS-HOST " + match;
    // Their packets are untranslated if another backend handles them first.
    const auto passes = [](const std::string& source) {
      return "KUBE-PORTALS-FIREWALL -m comment --comment \"ns1/svc1:p80 is served\" -p tcp -m tcp --dport 80 "
             "-d 1.2.3.4/32 -s " +
             source + " -j RETURN\n";
    };
    CPPUNIT_ASSERT_EQUAL(
        container + "203.0.113.0/25" + to + container + "192.168.0.0/24" + to + container + "1.2.3.4/32" + to + host +
            "203.0.113.0/25" + to + passes("203.0.113.0/25") + host + "192.168.0.0/24" + to + passes("192.168.0.0/24") +
            host + "1.2.3.4/32" + to + passes("1.2.3.4/32") +
            "KUBE-PORTALS-FIREWALL -m comment --comment \"ns1/svc1:p80 is not for this source\" -p tcp -m tcp --dport "
            "80 -d 1.2.3.4/32 -j DROP\n"
            "KUBE-PORTALS-FIREWALL -m comment --comment \"ns1/svc1:p80 is not reached by its proxy port\" -p tcp "
            "-m tcp --dport 40001 -m conntrack ! --ctstate DNAT -j DROP\n",
        rest(portal(spec, portal_facts(), {40001, 0})));
    // Pods of this node must match the detector and a range.
    spec.external_local = true;
    spec.endpoints = {kHere};
    spec.source_ranges = {"10.0.0.0/16", "0.0.0.0/1", "203.0.113.0/25"};
    const std::string local =
        "KUBE-PORTALS-CONTAINER -m comment --comment \"ns1/svc1:p80 local\" -p tcp -m tcp --dport 80 -d 1.2.3.4/32 -s ";
    const std::string to_local = " -j REDIRECT --to-ports 40002\n";
    const std::string text = rest(portal(spec));
    CPPUNIT_ASSERT_EQUAL(container + "10.0.0.0/16" + to + container + "10.0.0.0/8" + to + local + "10.0.0.0/16" +
                             to_local + local + "0.0.0.0/1" + to_local + local + "203.0.113.0/25" + to_local,
                         text.substr(0, text.find("KUBE-PORTALS-HOST")));
  }

  void health_check_port() {
    ServiceSpec spec = served();
    spec.health_check_node_port = 32000;
    CPPUNIT_ASSERT_EQUAL(std::string("KUBE-NODEPORT-NON-LOCAL -m comment --comment \"ns1/svc1:p80 health check node "
                                     "port\" -m tcp -p tcp --dport 32000 -j ACCEPT\n"),
                         rest(portal(spec)));
  }

  void withheld_frontends_have_no_rules() {
    ServiceSpec spec = served();
    spec.external_ips = {"192.168.99.11"};
    spec.node_port = 30001;
    const std::string all = lines(portal(spec));
    const std::string less = lines(portal(spec, portal_facts(), kPorts, {1, 2}));
    CPPUNIT_ASSERT(all.find("192.168.99.11") != std::string::npos && all.find("30001") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(lines(portal(served())), less);
    CPPUNIT_ASSERT_EQUAL(std::string(), lines(portal(spec, portal_facts(), kPorts, {0, 1, 2})));
  }

  void a_listener_without_port_has_no_rules() {
    ServiceSpec spec = served();
    spec.node_port = 30001;
    spec.external_local = true;
    spec.endpoints = {kHere};
    CPPUNIT_ASSERT_EQUAL(std::string::npos, lines(portal(spec, portal_facts(), {40001, 0})).find(" local"));
    CPPUNIT_ASSERT_EQUAL(std::string(), lines(portal(spec, portal_facts(), {0, 0})));
  }

  void invalid_names_are_rejected() {
    const auto code = [](const ServiceSpec& spec) {
      try {
        portal(spec);
      } catch (const sdk::Failure& failure) {
        return failure.code();
      }
      return abi::Code::kOk;
    };
    ServiceSpec spec = served();
    for (const char* name : {"a b", "a\"", "a\nCOMMIT", "a\\", "ä"}) {
      spec.name = name;
      CPPUNIT_ASSERT(code(spec) == abi::Code::kInvalid);
    }
    spec.name = std::string(192, 'a');
    CPPUNIT_ASSERT(code(spec) == abi::Code::kInvalid);
    ServiceSpec sctp;
    sctp.protocol = abi::Protocol::kSctp;
    CPPUNIT_ASSERT(code(sctp) == abi::Code::kUnsupported);
    NodeSpec node;
    node.detector = abi::LocalDetectorKind::kInterfaceNamePrefix;
    node.detector_interface = "cni -j ACCEPT";
    CPPUNIT_ASSERT_THROW(portal_facts(node), sdk::Failure);
  }

  void listeners_follow_the_policies() {
    const auto listeners = [](const ServiceSpec& spec) {
      World world;
      const userspace::NeededListeners needs = userspace::needed_listeners(world.service(spec));
      return std::string(needs.cluster ? "cluster " : "") + (needs.local ? "local" : "");
    };
    ServiceSpec spec = served();
    CPPUNIT_ASSERT_EQUAL(std::string("cluster "), listeners(spec));
    spec.node_port = 30001;
    CPPUNIT_ASSERT_EQUAL(std::string("cluster "), listeners(spec));
    spec.external_local = true;
    CPPUNIT_ASSERT_EQUAL(std::string("cluster local"), listeners(spec));
    spec.external_local = false;
    spec.internal_local = true;
    CPPUNIT_ASSERT_EQUAL(std::string("cluster local"), listeners(spec));
    spec.endpoints = {kThere};
    CPPUNIT_ASSERT_EQUAL(std::string("cluster "), listeners(spec));
    spec.endpoints = {kHere};
    spec.node_port = 0;
    CPPUNIT_ASSERT_EQUAL(std::string("local"), listeners(spec));
    spec.endpoints = {kThere};
    CPPUNIT_ASSERT_EQUAL(std::string(), listeners(spec));
    spec.endpoints.clear();
    CPPUNIT_ASSERT_EQUAL(std::string(), listeners(spec));
  }

  static std::string jump_lines(const userspace::PortalFacts& facts) {
    std::string text;
    for (const userspace::FixedRule& jump : userspace::fixed_rules(facts)) {
      text.append(jump.first ? "-I " : "-A ").append(netfilter::table_name(jump.rule.table)).append(" ");
      text += jump.rule.chain + " " + jump.rule.rule + "\n";
    }
    return text;
  }
  static std::string node_port_jumps(const NodeSpec& node, abi::Family family = abi::Family::kIpv4) {
    std::string text;
    for (const userspace::FixedRule& jump : userspace::fixed_rules(portal_facts(node, family))) {
      const std::string& rule = jump.rule.rule;
      const std::size_t end = std::min(rule.find(" -m mark"), rule.find(" -m comment"));
      if (!jump.first) text += jump.rule.chain + " " + rule.substr(0, end) + "\n";
    }
    return text;
  }

  void jumps() {
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "-I nat PREROUTING -m comment --comment \"handle ClusterIPs; NOTE: this must be before the NodePort "
            "rules\" "
            "-j KUBE-PORTALS-CONTAINER\n"
            "-I nat OUTPUT -m mark ! --mark 0x00001000/0x00001000 -m comment --comment \"handle ClusterIPs; NOTE: this "
            "must be before the NodePort rules\" "
            "-j KUBE-PORTALS-HOST\n"
            "-I filter INPUT -m comment --comment \"Ensure that non-local NodePort traffic can flow\" "
            "-j KUBE-NODEPORT-NON-LOCAL\n"
            "-I filter INPUT -m conntrack --ctstate NEW -m comment --comment \"drop what may not use a service "
            "portal\" "
            "-j KUBE-PORTALS-FIREWALL\n"
            "-I filter FORWARD -m conntrack --ctstate NEW -m comment --comment \"drop what may not use a service "
            "portal\" -j KUBE-PORTALS-FIREWALL\n"
            "-I filter OUTPUT -m conntrack --ctstate NEW -m mark ! --mark 0x00001000/0x00001000 -m comment --comment "
            "\"drop what may not use a service portal\" -j KUBE-PORTALS-FIREWALL\n"
            "-A nat PREROUTING -m addrtype --dst-type LOCAL -m comment --comment \"handle service NodePorts; NOTE: "
            "this must be the last rule in the chain\" -j KUBE-NODEPORT-CONTAINER\n"
            "-A nat OUTPUT -m addrtype --dst-type LOCAL -m mark ! --mark 0x00001000/0x00001000 -m comment --comment "
            "\"handle service NodePorts; NOTE: this must be the last rule in the chain\" -j KUBE-NODEPORT-HOST\n"),
        jump_lines(portal_facts()));
    NodeSpec node;
    node.flags = abi::kNodePortsMatchAll;
    CPPUNIT_ASSERT_EQUAL(std::string("PREROUTING -m addrtype --dst-type LOCAL ! -d 127.0.0.0/8\n"
                                     "OUTPUT -m addrtype --dst-type LOCAL ! -d 127.0.0.0/8\n"),
                         node_port_jumps(node));
    NodeSpec six;
    six.ip = "fd00::2";
    six.detector = abi::LocalDetectorKind::kNone;
    CPPUNIT_ASSERT_EQUAL(std::string("PREROUTING -m addrtype --dst-type LOCAL ! -d ::1/128\n"
                                     "OUTPUT -m addrtype --dst-type LOCAL ! -d ::1/128\n"),
                         node_port_jumps(six, abi::Family::kIpv6));
  }

  void jumps_for_chosen_addresses() {
    NodeSpec node;
    node.flags = abi::kNodePortsOnLocalhost;
    node.node_port_addresses = {"127.0.0.1", "192.168.0.2"};
    CPPUNIT_ASSERT_EQUAL(std::string("PREROUTING -d 127.0.0.1/32\nOUTPUT -d 127.0.0.1/32\n"
                                     "PREROUTING -d 192.168.0.2/32\nOUTPUT -d 192.168.0.2/32\n"),
                         node_port_jumps(node));
    CPPUNIT_ASSERT(userspace::unusable_node_port_addresses(portal_facts(node)).empty());
    node.flags = 0;
    CPPUNIT_ASSERT_EQUAL(std::string("PREROUTING -d 192.168.0.2/32\nOUTPUT -d 192.168.0.2/32\n"),
                         node_port_jumps(node));
    CPPUNIT_ASSERT(userspace::unusable_node_port_addresses(portal_facts(node)) ==
                   std::vector<std::string>{"127.0.0.1"});
    NodeSpec six;
    six.flags = abi::kNodePortsOnLocalhost;
    six.ip = "fd00::2";
    six.detector = abi::LocalDetectorKind::kNone;
    six.node_port_addresses = {"::1", "fd00::2"};
    CPPUNIT_ASSERT_EQUAL(std::string("PREROUTING -d fd00::2/128\nOUTPUT -d fd00::2/128\n"),
                         node_port_jumps(six, abi::Family::kIpv6));
    CPPUNIT_ASSERT(userspace::unusable_node_port_addresses(portal_facts(six, abi::Family::kIpv6)) ==
                   std::vector<std::string>{"::1"});
  }

  void facts_show_whether_the_node_has_its_address() {
    NodeSpec node;
    CPPUNIT_ASSERT(!portal_facts(node).host_address);
    node.local_addresses = {"192.168.1.2"};
    CPPUNIT_ASSERT(!portal_facts(node).host_address);
    node.local_addresses = {"192.168.0.2", "192.168.1.2"};
    CPPUNIT_ASSERT(portal_facts(node).host_address == sdk::parse_address("192.168.0.2", abi::Family::kIpv4));
    CPPUNIT_ASSERT(portal_facts(node) == portal_facts(node));
    CPPUNIT_ASSERT(!(portal_facts(node) == portal_facts()));
  }

  void comments_name_the_listener() {
    for (const bool local : {false, true}) {
      const userspace::ListenerName listener =
          userspace::parse_listener_comment(userspace::listener_comment("shop/cart:http", local));
      CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http"), listener.name);
      CPPUNIT_ASSERT_EQUAL(local, listener.local);
    }
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(PortalPlanTest);

}  // namespace portal_plan_test
}  // namespace sluice::test
