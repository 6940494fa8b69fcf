// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/static_plan.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

#include "plugins/iptables/names.hpp"
#include "test/unit/common/world.hpp"

namespace sluice::test {
namespace static_plan_test {

using iptables::StaticPlan;

std::string joined(const std::vector<std::string>& rules) {
  std::string text;
  for (const std::string& rule : rules) text += rule + "\n";
  return text;
}

StaticPlan plan(const NodeSpec& spec, abi::Family family = abi::Family::kIpv4, bool random_fully = true) {
  World world(family);
  return iptables::plan_static(family, world.node(spec), random_fully);
}

std::string chain(const StaticPlan& made, const std::string& name) {
  for (const netfilter::ExactChain& fixed : made.chains) {
    if (fixed.name == name) return joined(fixed.rules);
  }
  return "none";
}

class StaticPlanTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(StaticPlanTest);
  CPPUNIT_TEST(jumps_in_the_order_of_kube_proxy);
  CPPUNIT_TEST(mark_has_eight_digits);
  CPPUNIT_TEST(postrouting_without_random_fully);
  CPPUNIT_TEST(forward_chain);
  CPPUNIT_TEST(liberal_conntrack_does_not_drop_invalid_packets);
  CPPUNIT_TEST(localhost_node_ports_have_a_firewall_rule);
  CPPUNIT_TEST(node_ports_on_all_addresses);
  CPPUNIT_TEST(node_ports_on_some_addresses);
  CPPUNIT_TEST(unroutable_loopback_addresses_are_skipped);
  CPPUNIT_TEST(names_of_chains);
  CPPUNIT_TEST_SUITE_END();

  void jumps_in_the_order_of_kube_proxy() {
    std::string text;
    for (const iptables::Jump& jump : iptables::plan_jumps()) {
      text.append(netfilter::table_name(jump.table)).append(" ").append(jump.from).append(" ").append(jump.text);
      text.append("\n");
    }
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            R"(filter INPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes externally-visible service portals" -j KUBE-EXTERNAL-SERVICES
filter FORWARD -m conntrack --ctstate NEW -m comment --comment "kubernetes externally-visible service portals" -j KUBE-EXTERNAL-SERVICES
filter INPUT -m comment --comment "kubernetes health check service ports" -j KUBE-NODEPORTS
filter FORWARD -m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
filter OUTPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
filter FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
filter INPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL
filter OUTPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL
filter FORWARD -m conntrack --ctstate NEW -m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL
nat OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
nat PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
nat POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING
filter INPUT -j KUBE-FIREWALL
filter OUTPUT -j KUBE-FIREWALL
)"),
        text);
  }

  void mark_has_eight_digits() {
    CPPUNIT_ASSERT_EQUAL(std::string("-j MARK --or-mark 0x00004000\n"), chain(plan({}), "KUBE-MARK-MASQ"));
    CPPUNIT_ASSERT_EQUAL(std::string("-m mark ! --mark 0x00004000/0x00004000 -j RETURN\n"
                                     "-j MARK --xor-mark 0x00004000\n"
                                     "-m comment --comment \"kubernetes service traffic requiring SNAT\" -j MASQUERADE "
                                     "--random-fully\n"),
                         chain(plan({}), "KUBE-POSTROUTING"));
    NodeSpec node;
    node.mark = 1u << 31;
    CPPUNIT_ASSERT_EQUAL(std::string("-j MARK --or-mark 0x80000000\n"), chain(plan(node), "KUBE-MARK-MASQ"));
  }

  void postrouting_without_random_fully() {  // case 102
    CPPUNIT_ASSERT(chain(plan({}, abi::Family::kIpv4, false), "KUBE-POSTROUTING").ends_with("-j MASQUERADE\n"));
  }

  void forward_chain() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("-m conntrack --ctstate INVALID -j DROP\n"
                    "-m comment --comment \"kubernetes forwarding rules\" -m mark --mark 0x00004000/0x00004000 -j ACCEPT\n"
                    "-m comment --comment \"kubernetes forwarding conntrack rule\" -m conntrack --ctstate "
                    "RELATED,ESTABLISHED -j ACCEPT\n"),
        chain(plan({}), "KUBE-FORWARD"));
  }

  void liberal_conntrack_does_not_drop_invalid_packets() {  // case 101
    NodeSpec node;
    node.flags |= abi::kConntrackTcpLiberal;
    CPPUNIT_ASSERT(chain(plan(node), "KUBE-FORWARD").find("INVALID") == std::string::npos);
  }

  void localhost_node_ports_have_a_firewall_rule() {
    const std::string rule =
        "-m comment --comment \"block incoming localnet connections\" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! "
        "--ctstate RELATED,ESTABLISHED,DNAT -j DROP";
    CPPUNIT_ASSERT_EQUAL(rule, plan({}).firewall_rule);
    NodeSpec node;
    node.flags = abi::kNodePortsMatchAll;
    CPPUNIT_ASSERT_EQUAL(std::string(), plan(node).firewall_rule);
    NodeSpec ipv6;
    ipv6.ip = "fd00::2";
    ipv6.detector_cidr = "fd00::/8";
    CPPUNIT_ASSERT_EQUAL(std::string(), plan(ipv6, abi::Family::kIpv6).firewall_rule);
  }

  void node_ports_on_all_addresses() {
    const std::string comment =
        "-m comment --comment \"kubernetes service nodeports; NOTE: this must be the last rule in this chain\"";
    CPPUNIT_ASSERT_EQUAL(comment + " -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS\n", joined(plan({}).tail));
    NodeSpec node;
    node.flags = abi::kNodePortsMatchAll;
    CPPUNIT_ASSERT_EQUAL(comment + " -m addrtype --dst-type LOCAL ! -d 127.0.0.0/8 -j KUBE-NODEPORTS\n",
                         joined(plan(node).tail));
    node.ip = "fd00::2";
    node.detector_cidr = "fd00::/8";
    CPPUNIT_ASSERT_EQUAL(comment + " -m addrtype --dst-type LOCAL ! -d ::1/128 -j KUBE-NODEPORTS\n",
                         joined(plan(node, abi::Family::kIpv6).tail));
  }

  void node_ports_on_some_addresses() {
    NodeSpec node;
    node.flags = 0;
    node.node_port_addresses = {"192.168.0.2", "192.168.1.2"};
    const std::string comment =
        "-m comment --comment \"kubernetes service nodeports; NOTE: this must be the last rule in this chain\"";
    CPPUNIT_ASSERT_EQUAL(comment + " -d 192.168.0.2 -j KUBE-NODEPORTS\n" + comment +
                             " -d 192.168.1.2 -j KUBE-NODEPORTS\n",
                         joined(plan(node).tail));
    node.node_port_addresses.clear();
    CPPUNIT_ASSERT(plan(node).tail.empty());
  }

  void unroutable_loopback_addresses_are_skipped() {
    NodeSpec node;
    node.flags = abi::kNodePortsOnLocalhost;
    node.node_port_addresses = {"127.0.0.1", "192.168.0.2"};
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, plan(node).tail.size());
    node.flags = 0;
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, plan(node).tail.size());
    World world;
    CPPUNIT_ASSERT_EQUAL(std::string("127.0.0.1\n"),
                         joined(iptables::unusable_node_port_addresses(abi::Family::kIpv4, world.node(node))));
    node.ip = "fd00::2";
    node.detector_cidr = "fd00::/8";
    node.flags = abi::kNodePortsOnLocalhost;
    node.node_port_addresses = {"::1", "fd00::2"};
    World world6(abi::Family::kIpv6);
    CPPUNIT_ASSERT_EQUAL(std::string("::1\n"),
                         joined(iptables::unusable_node_port_addresses(abi::Family::kIpv6, world6.node(node))));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, plan(node, abi::Family::kIpv6).tail.size());
  }

  void names_of_chains() {
    using namespace iptables;
    const ChainId chain{ChainKind::kFirewall, netfilter::base32_hash("ns1/svc1:p80tcp")};
    CPPUNIT_ASSERT_EQUAL(std::string("KUBE-FW-XPGD46QRK7WJZT7O"), iptables::name(chain));
    CPPUNIT_ASSERT(parse_chain("KUBE-FW-XPGD46QRK7WJZT7O") == chain);
    CPPUNIT_ASSERT(!parse_chain("KUBE-FW-XPGD46QRK7WJZT7"));
    CPPUNIT_ASSERT(!parse_chain("KUBE-SERVICES"));
    CPPUNIT_ASSERT(is_ours("nat", "KUBE-SEP-SXIVWICOYRO3J4NJ"));
    CPPUNIT_ASSERT(is_ours("filter", "KUBE-NODEPORTS") && is_ours("nat", "KUBE-NODEPORTS"));
    CPPUNIT_ASSERT(is_ours("mangle", "KUBE-PROXY-CANARY"));
    for (const char* foreign : {"KUBE-FIREWALL", "KUBE-KUBELET-CANARY", "KUBE-LOAD-BALANCER", "INPUT", "DOCKER"}) {
      CPPUNIT_ASSERT(!is_ours("filter", foreign) && !is_ours("nat", foreign));
    }
    CPPUNIT_ASSERT(!is_ours("filter", "KUBE-SEP-SXIVWICOYRO3J4NJ"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(StaticPlanTest);

}  // namespace static_plan_test
}  // namespace sluice::test
