// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/rules/rule_plan.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "sluice/sdk/error.hpp"
#include "test/unit/ipvs/rule_text.hpp"

namespace sluice::test {
namespace rule_plan_test {

using ipvs::SetId;
using netfilter::Table;

class RulePlanTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RulePlanTest);
  CPPUNIT_TEST(jumps_in_the_order_of_kube_proxy);
  CPPUNIT_TEST(worked_example);
  CPPUNIT_TEST(every_set_filled);
  CPPUNIT_TEST(sets_have_other_names_with_ipv6);
  CPPUNIT_TEST(rules_of_empty_sets_are_omitted);
  CPPUNIT_TEST(masquerade_all);
  CPPUNIT_TEST(local_detectors);
  CPPUNIT_TEST(rejects_invalid_interface_names);
  CPPUNIT_TEST(load_balancers_closed_to_the_node);
  CPPUNIT_TEST(names_its_chains);
  CPPUNIT_TEST_SUITE_END();

  void jumps_in_the_order_of_kube_proxy() {
    std::string text;
    for (const ipvs::RuleJump& jump : ipvs::plan_jumps()) {
      text.append(netfilter::in_table(jump.table, jump.from)).append(" ").append(jump.rule).append("\n");
    }
    CPPUNIT_ASSERT_EQUAL(std::string(
                             R"(nat OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
nat PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
nat POSTROUTING -m comment --comment "kubernetes ipvs handover rules" -j KUBE-IPVS-HANDOVER
nat POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING
filter FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
filter INPUT -m comment --comment "kubernetes health check rules" -j KUBE-NODE-PORT
filter INPUT -m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL
filter FORWARD -m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL
filter INPUT -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-FILTER
filter OUTPUT -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-OUT-FILTER
)"),
                         text);
  }

  // BEH 6.9; cases 116 and 122.
  void worked_example() {
    const auto filled = bits(
        {SetId::kClusterIp, SetId::kLoopBack, SetId::kNodePortTcp, SetId::kNodePortLocalTcp, SetId::kIpvsAddresses});
    CPPUNIT_ASSERT_EQUAL(std::string(
                             R"(nat KUBE-SERVICES -s 127.0.0.0/8 -j RETURN
nat KUBE-SERVICES -m comment --comment "Kubernetes service cluster ip + port for masquerade purpose" -m set --match-set KUBE-CLUSTER-IP dst,dst ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
nat KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODE-PORT
nat KUBE-SERVICES -m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT
nat KUBE-POSTROUTING -m comment --comment "Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose" -m set --match-set KUBE-LOOP-BACK dst,dst,src -j MASQUERADE
nat KUBE-POSTROUTING -m mark ! --mark 0x00004000/0x00004000 -j RETURN
nat KUBE-POSTROUTING -j MARK --xor-mark 0x00004000
nat KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully
nat KUBE-NODE-PORT -p tcp -m comment --comment "Kubernetes nodeport TCP port with externalTrafficPolicy=local" -m set --match-set KUBE-NODE-PORT-LOCAL-TCP dst -j RETURN
nat KUBE-NODE-PORT -p tcp -m comment --comment "Kubernetes nodeport TCP port for masquerade purpose" -m set --match-set KUBE-NODE-PORT-TCP dst -j KUBE-MARK-MASQ
nat KUBE-LOAD-BALANCER -j KUBE-MARK-MASQ
nat KUBE-MARK-MASQ -j MARK --or-mark 0x00004000
nat KUBE-IPVS-HANDOVER -m conntrack --ctstate DNAT -m mark ! --mark 0x00004000/0x00004000 -m set --match-set KUBE-IPVS-IPS src -j MASQUERADE --random-fully
filter KUBE-FORWARD -m comment --comment "kubernetes forwarding rules" -m mark --mark 0x00004000/0x00004000 -j ACCEPT
filter KUBE-FORWARD -m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
filter KUBE-NODE-PORT -m comment --comment "Kubernetes health check node port" -m set --match-set KUBE-HEALTH-CHECK-NODE-PORT dst -j ACCEPT
filter KUBE-PROXY-FIREWALL
filter KUBE-SOURCE-RANGES-FIREWALL -j DROP
filter KUBE-IPVS-FILTER -m set --match-set KUBE-LOAD-BALANCER dst,dst -j RETURN
filter KUBE-IPVS-FILTER -m set --match-set KUBE-CLUSTER-IP dst,dst -j RETURN
filter KUBE-IPVS-FILTER -m set --match-set KUBE-EXTERNAL-IP dst,dst -j RETURN
filter KUBE-IPVS-FILTER -m set --match-set KUBE-EXTERNAL-IP-LOCAL dst,dst -j RETURN
filter KUBE-IPVS-FILTER -m set --match-set KUBE-HEALTH-CHECK-NODE-PORT dst -j RETURN
filter KUBE-IPVS-FILTER -m conntrack --ctstate NEW -m set --match-set KUBE-IPVS-IPS dst -j REJECT
filter KUBE-IPVS-OUT-FILTER
)"),
                         text_of(ipvs::plan_rules(rule_facts(), filled, {})));
  }

  void every_set_filled() {
    const ipvs::RulePlan plan = ipvs::plan_rules(rule_facts({}, abi::Family::kIpv4, false), kAllSets, {});
    CPPUNIT_ASSERT_EQUAL(std::string(
                             R"(-s 127.0.0.0/8 -j RETURN
-m comment --comment "Kubernetes service lb portal" -m set --match-set KUBE-LOAD-BALANCER dst,dst -j KUBE-LOAD-BALANCER
-m comment --comment "Kubernetes service cluster ip + port for masquerade purpose" -m set --match-set KUBE-CLUSTER-IP dst,dst ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
-m comment --comment "Kubernetes service external ip + port for masquerade and filter purpose" -m set --match-set KUBE-EXTERNAL-IP dst,dst -j KUBE-MARK-MASQ
-m comment --comment "Kubernetes service external ip + port for masquerade and filter purpose" -m set --match-set KUBE-EXTERNAL-IP dst,dst -m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j ACCEPT
-m comment --comment "Kubernetes service external ip + port for masquerade and filter purpose" -m set --match-set KUBE-EXTERNAL-IP dst,dst -m addrtype --dst-type LOCAL -j ACCEPT
-m comment --comment "Kubernetes service external ip + port with externalTrafficPolicy=local" -m set --match-set KUBE-EXTERNAL-IP-LOCAL dst,dst -m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j ACCEPT
-m comment --comment "Kubernetes service external ip + port with externalTrafficPolicy=local" -m set --match-set KUBE-EXTERNAL-IP-LOCAL dst,dst -m addrtype --dst-type LOCAL -j ACCEPT
-m addrtype --dst-type LOCAL -j KUBE-NODE-PORT
-m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT
-m set --match-set KUBE-LOAD-BALANCER dst,dst -j ACCEPT
)"),
                         chain_of(plan, Table::kNat, "KUBE-SERVICES"));
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            R"(-p tcp -m comment --comment "Kubernetes nodeport TCP port with externalTrafficPolicy=local" -m set --match-set KUBE-NODE-PORT-LOCAL-TCP dst -j RETURN
-p tcp -m comment --comment "Kubernetes nodeport TCP port for masquerade purpose" -m set --match-set KUBE-NODE-PORT-TCP dst -j KUBE-MARK-MASQ
-p udp -m comment --comment "Kubernetes nodeport UDP port with externalTrafficPolicy=local" -m set --match-set KUBE-NODE-PORT-LOCAL-UDP dst -j RETURN
-p udp -m comment --comment "Kubernetes nodeport UDP port for masquerade purpose" -m set --match-set KUBE-NODE-PORT-UDP dst -j KUBE-MARK-MASQ
-p sctp -m comment --comment "Kubernetes nodeport SCTP port with externalTrafficPolicy=local with type 'hash ip:port'" -m set --match-set KUBE-NODE-PORT-LOCAL-SCTP-HASH dst,dst -j RETURN
-p sctp -m comment --comment "Kubernetes nodeport SCTP port for masquerade purpose with type 'hash ip:port'" -m set --match-set KUBE-NODE-PORT-SCTP-HASH dst,dst -j KUBE-MARK-MASQ
)"),
        chain_of(plan, Table::kNat, "KUBE-NODE-PORT"));
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            R"(-m comment --comment "Kubernetes service load balancer ip + port with externalTrafficPolicy=local" -m set --match-set KUBE-LOAD-BALANCER-LOCAL dst,dst -j RETURN
-j KUBE-MARK-MASQ
)"),
        chain_of(plan, Table::kNat, "KUBE-LOAD-BALANCER"));
    // Case 123.
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            R"(-m comment --comment "Kubernetes service load balancer ip + port for load balancer with sourceRange" -m set --match-set KUBE-LOAD-BALANCER-FW dst,dst -j KUBE-SOURCE-RANGES-FIREWALL
)"),
        chain_of(plan, Table::kFilter, "KUBE-PROXY-FIREWALL"));
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            R"(-m comment --comment "Kubernetes service load balancer ip + port + source cidr for packet filter purpose" -m set --match-set KUBE-LOAD-BALANCER-SOURCE-CIDR dst,dst,src -j RETURN
-m comment --comment "Kubernetes service load balancer ip + port + source IP for packet filter purpose" -m set --match-set KUBE-LOAD-BALANCER-SOURCE-IP dst,dst,src -j RETURN
-j DROP
)"),
        chain_of(plan, Table::kFilter, "KUBE-SOURCE-RANGES-FIREWALL"));
    // Old iptables cannot randomise ports.
    CPPUNIT_ASSERT(chain_of(plan, Table::kNat, "KUBE-POSTROUTING").ends_with("-j MASQUERADE\n"));
  }

  void sets_have_other_names_with_ipv6() {
    NodeSpec node;
    node.ip = "fd00::2";
    node.detector_cidr = "fd00:10::/64";
    const ipvs::RulePlan plan = ipvs::plan_rules(rule_facts(node, abi::Family::kIpv6), kAllSets, {});
    const std::string text = text_of(plan);
    CPPUNIT_ASSERT(text.starts_with("nat KUBE-SERVICES -s ::1/128 -j RETURN\n"));
    CPPUNIT_ASSERT(text.find("--match-set KUBE-6-LOAD-BALANCER-SOURCE-CID dst,dst,src") != std::string::npos);
    CPPUNIT_ASSERT(text.find("--match-set KUBE-6-NODE-PORT-LOCAL-SCTP-HAS dst,dst") != std::string::npos);
    CPPUNIT_ASSERT(text.find("--match-set KUBE-6-CLUSTER-IP dst,dst ! -s fd00:10::/64 -j KUBE-MARK-MASQ") !=
                   std::string::npos);
    std::string without = text;
    for (std::size_t at; (at = without.find("--match-set KUBE-6-")) != std::string::npos;) without.erase(at, 19);
    CPPUNIT_ASSERT_MESSAGE(text, without.find("--match-set") == std::string::npos);
  }

  // Permanent rules use the sets, which exist even if empty.
  void rules_of_empty_sets_are_omitted() {
    const ipvs::RulePlan plan = ipvs::plan_rules(rule_facts(), 0, {});
    CPPUNIT_ASSERT_EQUAL(std::string("-s 127.0.0.0/8 -j RETURN\n-m addrtype --dst-type LOCAL -j KUBE-NODE-PORT\n"),
                         chain_of(plan, Table::kNat, "KUBE-SERVICES"));
    CPPUNIT_ASSERT_EQUAL(std::string(), chain_of(plan, Table::kNat, "KUBE-NODE-PORT"));
    CPPUNIT_ASSERT_EQUAL(std::string("-j KUBE-MARK-MASQ\n"), chain_of(plan, Table::kNat, "KUBE-LOAD-BALANCER"));
    CPPUNIT_ASSERT_EQUAL(std::string(), chain_of(plan, Table::kFilter, "KUBE-PROXY-FIREWALL"));
    const ipvs::RulePlan all = ipvs::plan_rules(rule_facts(), kAllSets, {});
    for (const char* chain : {"KUBE-NODE-PORT", "KUBE-IPVS-FILTER"}) {
      CPPUNIT_ASSERT_EQUAL(chain_of(all, Table::kFilter, chain), chain_of(plan, Table::kFilter, chain));
    }
  }

  std::string cluster_rule(const NodeSpec& node, abi::Family family = abi::Family::kIpv4) {
    const std::string rules = chain_of(ipvs::plan_rules(rule_facts(node, family), bits({SetId::kClusterIp}), {}),
                                       Table::kNat, "KUBE-SERVICES");
    const std::size_t end = rules.find(" -j KUBE-MARK-MASQ\n");
    if (end == std::string::npos) return "none";
    const std::size_t begin = rules.rfind("--match-set ", end) + 12;
    return rules.substr(begin, end - begin);
  }

  void masquerade_all() {
    NodeSpec node;
    node.flags |= abi::kMasqueradeAll;
    CPPUNIT_ASSERT_EQUAL(std::string("KUBE-CLUSTER-IP dst,dst"), cluster_rule(node));
  }

  void local_detectors() {
    NodeSpec node;
    CPPUNIT_ASSERT_EQUAL(std::string("KUBE-CLUSTER-IP dst,dst ! -s 10.0.0.0/8"), cluster_rule(node));
    node.detector_cidr = "0.0.0.0/0";  // "! -s 0.0.0.0/0" is not a valid rule
    CPPUNIT_ASSERT_EQUAL(std::string("none"), cluster_rule(node));
    node.detector = abi::LocalDetectorKind::kNone;
    CPPUNIT_ASSERT_EQUAL(std::string("KUBE-CLUSTER-IP src,dst"), cluster_rule(node));
    node.detector = abi::LocalDetectorKind::kBridgeInterface;
    node.detector_interface = "cbr0";
    CPPUNIT_ASSERT_EQUAL(std::string("KUBE-CLUSTER-IP dst,dst ! -i cbr0"), cluster_rule(node));
    node.detector = abi::LocalDetectorKind::kInterfaceNamePrefix;
    CPPUNIT_ASSERT_EQUAL(std::string("KUBE-CLUSTER-IP dst,dst ! -i cbr0+"), cluster_rule(node));
  }

  void rejects_invalid_interface_names() {
    NodeSpec node;
    node.detector = abi::LocalDetectorKind::kBridgeInterface;
    node.detector_interface = "cni -j ACCEPT";
    CPPUNIT_ASSERT_THROW(rule_facts(node), sdk::Failure);
  }

  // Case 123.
  void load_balancers_closed_to_the_node() {
    const std::set<ipvs::ServerKey> closed = {server_key("1.2.3.4", 80),
                                              server_key("1.2.3.4", 53, abi::Protocol::kUdp)};
    CPPUNIT_ASSERT_EQUAL(std::string("-s 1.2.3.4 -m ipvs --vaddr 1.2.3.4 --vproto udp --vport 53 -j DROP\n"
                                     "-s 1.2.3.4 -m ipvs --vaddr 1.2.3.4 --vproto tcp --vport 80 -j DROP\n"),
                         chain_of(ipvs::plan_rules(rule_facts(), 0, closed), Table::kFilter, "KUBE-IPVS-OUT-FILTER"));
    NodeSpec node;
    node.detector = abi::LocalDetectorKind::kNone;
    const std::set<ipvs::ServerKey> six = {server_key("fd00::9", 80, abi::Protocol::kTcp, abi::Family::kIpv6)};
    CPPUNIT_ASSERT_EQUAL(std::string("-s fd00::9 -m ipvs --vaddr fd00::9 --vproto tcp --vport 80 -j DROP\n"),
                         chain_of(ipvs::plan_rules(rule_facts(node, abi::Family::kIpv6), 0, six), Table::kFilter,
                                  "KUBE-IPVS-OUT-FILTER"));
  }

  void names_its_chains() {
    std::size_t planned = 0;
    for (const ipvs::RuleChain& chain : ipvs::plan_rules(rule_facts(), kAllSets, {}).chains) {
      CPPUNIT_ASSERT(ipvs::is_owned(chain.table, chain.name));
      ++planned;
    }
    CPPUNIT_ASSERT_EQUAL(planned, ipvs::kOwnedChains.size());
    CPPUNIT_ASSERT(!ipvs::is_owned(Table::kFilter, "KUBE-SERVICES"));  // iptables mode has that one
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(RulePlanTest);

}  // namespace rule_plan_test
}  // namespace sluice::test
