// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/cleanup/chains.hpp"

namespace sluice::cleanup {
namespace chain_plan_test {

using names::kIptables;
using names::kIpvs;
using netfilter::Table;

class CleanupChainPlanTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CleanupChainPlanTest);
  CPPUNIT_TEST(removes_chains_with_the_jumps_of_kube_proxy);
  CPPUNIT_TEST(removes_jumps_of_older_releases);
  CPPUNIT_TEST(removes_jumps_of_userspace_mode_for_any_address);
  CPPUNIT_TEST(removes_only_the_jumps_of_another_mode_to_a_shared_chain);
  CPPUNIT_TEST(keeps_a_foreign_jump_and_its_chain);
  CPPUNIT_TEST(keeps_the_targets_of_a_chain_that_stays);
  CPPUNIT_TEST(removes_plain_jumps_to_claimed_chains);
  CPPUNIT_TEST(plan_is_empty_without_chains_of_kube_proxy);
  CPPUNIT_TEST(reports_a_table_that_iptables_cannot_show);
  CPPUNIT_TEST(rejects_truncated_output);
  CPPUNIT_TEST(plan_does_not_depend_on_the_size_of_pieces);
  CPPUNIT_TEST_SUITE_END();

  static constexpr std::string_view kSaved =
      "*nat\n:PREROUTING ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n:KUBE-SVC-XPGD46QRK7WJZT7O - "
      "[0:0]\n"
      ":KUBE-MARK-DROP - [0:0]\n:FOREIGN - [0:0]\n"
      "-A PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n"
      "-A PREROUTING -d 198.51.100.7/32 -j FOREIGN\n"
      "-A OUTPUT -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n"
      "-A KUBE-SERVICES -d 10.0.0.1/32 -j KUBE-SVC-XPGD46QRK7WJZT7O\n"
      "-A KUBE-MARK-DROP -j MARK --set-xmark 0x8000/0x8000\nCOMMIT\n";

 public:
  static bool plan_of(const Selection& selection, std::string_view text, ChainPlan& into, std::size_t piece = 4096) {
    ChainPlanner planner(selection, lib::Family::ipv4);
    for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) planner.parse(text.substr(0, piece));
    return planner.finish(into);
  }
  static std::string describe(const ChainPlan& plan) {
    std::string out;
    for (const auto& jump : plan.jumps) {
      out.append("-D ")
          .append(netfilter::table_name(jump.table))
          .append(" ")
          .append(jump.from)
          .append(" ")
          .append(jump.rule.substr(jump.rule.find("-j")))
          .append("\n");
    }
    for (const auto& chain : plan.chains) {
      out.append("-X ").append(netfilter::table_name(chain.table)).append(" ").append(chain.name).append("\n");
    }
    for (const auto& [chain, from] : plan.held)
      out.append("-F ").append(chain.name).append(" by ").append(from).append("\n");
    return out;
  }
  static std::string planned(const Selection& selection, std::string_view text, std::size_t piece = 4096) {
    ChainPlan plan;
    CPPUNIT_ASSERT(plan_of(selection, text, plan, piece));
    return describe(plan);
  }

  void removes_chains_with_the_jumps_of_kube_proxy() {
    CPPUNIT_ASSERT_EQUAL(std::string("-D nat OUTPUT -j KUBE-SERVICES\n-D nat PREROUTING -j KUBE-SERVICES\n"
                                     "-X nat KUBE-SERVICES\n-X nat KUBE-SVC-XPGD46QRK7WJZT7O\n"),
                         planned(Selection(kAllModes, 0), kSaved));
  }

  void removes_jumps_of_older_releases() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("-D filter FORWARD -j KUBE-FORWARD\n-D filter INPUT -j KUBE-SERVICES\n"
                    "-D nat PREROUTING -j KUBE-NODEPORT-CONTAINER\n"
                    "-X filter KUBE-FORWARD\n-X filter KUBE-SERVICES\n-X nat KUBE-NODEPORT-CONTAINER\n"),
        planned(
            Selection(kAllModes, 0),
            "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n:KUBE-FORWARD - [0:0]\n"
            "-A INPUT -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n"
            "-A FORWARD -m comment --comment \"kubernetes forward rules\" -j KUBE-FORWARD\nCOMMIT\n"
            "*nat\n:PREROUTING ACCEPT [0:0]\n:KUBE-NODEPORT-CONTAINER - [0:0]\n"
            "-A PREROUTING -m addrtype --dst-type LOCAL -m comment --comment \"handle service NodePorts; NOTE: this "
            "must be the last rule in the chain\" -j KUBE-NODEPORT-CONTAINER\nCOMMIT\n"));
  }

  void removes_jumps_of_userspace_mode_for_any_address() {
    const std::string comment =
        "-m comment --comment \"handle service NodePorts; NOTE: this must be the last rule in the chain\" ";
    const auto saved = [](const std::string& first, const std::string& second) {
      return "*filter\n:INPUT ACCEPT [0:0]\n:KUBE-PORTALS-FIREWALL - [0:0]\n"
             "-A INPUT -m conntrack --ctstate NEW -m comment --comment \"drop what may not use a service portal\" "
             "-j KUBE-PORTALS-FIREWALL\nCOMMIT\n"
             "*nat\n:PREROUTING ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:KUBE-NODEPORT-CONTAINER - [0:0]\n"
             ":KUBE-NODEPORT-HOST - [0:0]\n-A PREROUTING " +
             first + "-j KUBE-NODEPORT-CONTAINER\n-A OUTPUT " + second + "-j KUBE-NODEPORT-HOST\nCOMMIT\n";
    };
    const std::string all =
        "-D filter INPUT -j KUBE-PORTALS-FIREWALL\n-D nat OUTPUT -j KUBE-NODEPORT-HOST\n"
        "-D nat PREROUTING -j KUBE-NODEPORT-CONTAINER\n-X filter KUBE-PORTALS-FIREWALL\n"
        "-X nat KUBE-NODEPORT-CONTAINER\n-X nat KUBE-NODEPORT-HOST\n";
    CPPUNIT_ASSERT_EQUAL(all, planned(Selection(kAllModes & ~kIptables, kIptables),
                                      saved("-d 192.168.0.2/32 " + comment,
                                            "! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL " + comment)));
    // Of each release: without a mark, and with the marks that the relay may use.
    for (const std::string mark : {"", "-m mark ! --mark 0x1000/0x1000 ", "-m mark ! --mark 0x40/0x40 "}) {
      for (const std::string match :
           {"-d 192.168.0.2/32 ", "! -d ::1/128 -m addrtype --dst-type LOCAL ", "-m addrtype --dst-type LOCAL "}) {
        CPPUNIT_ASSERT_EQUAL_MESSAGE(
            match + mark, all,
            planned(Selection(kAllModes, 0),
                    saved("-d 192.168.0.2/32 " + comment, std::string(match + mark).append(comment))));
      }
      CPPUNIT_ASSERT_EQUAL_MESSAGE(
          mark,
          std::string("-D filter OUTPUT -j KUBE-PORTALS-FIREWALL\n-D nat OUTPUT -j KUBE-PORTALS-HOST\n"
                      "-X filter KUBE-PORTALS-FIREWALL\n-X nat KUBE-PORTALS-HOST\n"),
          planned(
              Selection(kAllModes, 0),
              "*filter\n:OUTPUT ACCEPT [0:0]\n:KUBE-PORTALS-FIREWALL - [0:0]\n"
              "-A OUTPUT -m conntrack --ctstate NEW " +
                  mark +
                  "-m comment --comment \"drop what may not use a service portal\" -j KUBE-PORTALS-FIREWALL\nCOMMIT\n"
                  "*nat\n:OUTPUT ACCEPT [0:0]\n:KUBE-PORTALS-HOST - [0:0]\n-A OUTPUT " +
                  mark +
                  "-m comment --comment \"handle ClusterIPs; NOTE: this must be before the NodePort rules\" "
                  "-j KUBE-PORTALS-HOST\nCOMMIT\n"));
    }
    // A rule with another mark is foreign.
    CPPUNIT_ASSERT_EQUAL(std::string("-F KUBE-NODEPORT-HOST by OUTPUT\n"),
                         planned(Selection(kAllModes, 0),
                                 "*nat\n:OUTPUT ACCEPT [0:0]\n:KUBE-NODEPORT-HOST - [0:0]\n-A OUTPUT -m addrtype "
                                 "--dst-type LOCAL -m mark ! --mark 0x4000/0x4000 " +
                                     comment + "-j KUBE-NODEPORT-HOST\nCOMMIT\n"));
    // A rule without the comment is foreign.
    CPPUNIT_ASSERT_EQUAL(
        std::string("-D filter INPUT -j KUBE-PORTALS-FIREWALL\n-X filter KUBE-PORTALS-FIREWALL\n"
                    "-F KUBE-NODEPORT-CONTAINER by PREROUTING\n-F KUBE-NODEPORT-HOST by OUTPUT\n"),
        planned(Selection(kAllModes, 0), saved("-d 192.168.0.2/32 ", "-d 192.168.0.2/32 -p tcp " + comment)));
  }

  void removes_only_the_jumps_of_another_mode_to_a_shared_chain() {
    constexpr std::string_view kShared =
        "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:FOREIGN - [0:0]\n"
        ":KUBE-FORWARD - [0:0]\n:KUBE-PROXY-FIREWALL - [0:0]\n"
        "-A INPUT -m comment --comment \"kube-proxy firewall rules\" -j KUBE-PROXY-FIREWALL\n"
        "-A INPUT -m conntrack --ctstate NEW -m comment --comment \"kubernetes load balancer firewall\" -j "
        "KUBE-PROXY-FIREWALL\n"
        "-A INPUT -s 10.9.0.0/16 -j KUBE-PROXY-FIREWALL\n"
        "-A FORWARD -m comment --comment \"kubernetes forwarding rules\" -j KUBE-FORWARD\n"
        "-A OUTPUT -m conntrack --ctstate NEW -m comment --comment \"kubernetes load balancer firewall\" -j "
        "KUBE-PROXY-FIREWALL\n"
        "-A FOREIGN -m comment --comment \"kubernetes load balancer firewall\" -j KUBE-PROXY-FIREWALL\nCOMMIT\n";
    const auto jumps = [&](Modes gone, Modes kept) {
      ChainPlan plan;
      CPPUNIT_ASSERT(plan_of(Selection(gone, kept), kShared, plan));
      CPPUNIT_ASSERT(plan.chains.empty() && plan.held.empty());
      std::string out;
      for (const auto& jump : plan.jumps) out.append(jump.from).append(" ").append(jump.rule).append("\n");
      return out;
    };
    const std::string balancers =
        "-m conntrack --ctstate NEW -m comment --comment \"kubernetes load balancer firewall\" -j "
        "KUBE-PROXY-FIREWALL\n";
    CPPUNIT_ASSERT_EQUAL("INPUT " + balancers + "OUTPUT " + balancers, jumps(kAllModes & ~kIpvs, kIpvs));
    CPPUNIT_ASSERT_EQUAL(
        std::string("INPUT -m comment --comment \"kube-proxy firewall rules\" -j KUBE-PROXY-FIREWALL\n"),
        jumps(kAllModes & ~kIptables, kIptables));
    CPPUNIT_ASSERT_EQUAL(std::string(), jumps(0, kIpvs));
  }

  void keeps_a_foreign_jump_and_its_chain() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("-D nat PREROUTING -j KUBE-SERVICES\n-X nat KUBE-SVC-XPGD46QRK7WJZT7O\n"
                    "-F KUBE-MARK-MASQ by PREROUTING\n-F KUBE-SERVICES by FOREIGN\n"),
        planned(Selection(kAllModes, 0),
                "*nat\n:PREROUTING ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n:KUBE-MARK-MASQ - [0:0]\n"
                ":KUBE-SVC-XPGD46QRK7WJZT7O - [0:0]\n:FOREIGN - [0:0]\n"
                "-A PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n"
                "-A PREROUTING -s 10.9.0.0/16 -j KUBE-MARK-MASQ\n"
                "-A FOREIGN -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\nCOMMIT\n"));
  }

  void keeps_the_targets_of_a_chain_that_stays() {
    CPPUNIT_ASSERT_EQUAL(std::string("-F KUBE-NODE-PORT by KUBE-SERVICES\n"),
                         planned(Selection(kAllModes & ~kIptables, kIptables),
                                 "*nat\n:KUBE-SERVICES - [0:0]\n:KUBE-NODE-PORT - [0:0]\n"
                                 "-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODE-PORT\nCOMMIT\n"));
  }

  void removes_plain_jumps_to_claimed_chains() {
    Selection selection(0, 0);
    CPPUNIT_ASSERT(selection.add(lib::Family::ipv4, "iptables/nat/OTHER-*"));
    CPPUNIT_ASSERT_EQUAL(std::string("-D nat PREROUTING -j OTHER-A\n-X nat OTHER-A\n-F OTHER-B by PREROUTING\n"),
                         planned(selection,
                                 "*nat\n:PREROUTING ACCEPT [0:0]\n:OTHER-A - [0:0]\n:OTHER-B - [0:0]\n"
                                 "-A PREROUTING -m comment --comment mine -j OTHER-A\n"
                                 "-A PREROUTING -p tcp -m tcp --dport 80 -j OTHER-B\nCOMMIT\n"));
  }

  void plan_is_empty_without_chains_of_kube_proxy() {
    ChainPlan plan;
    CPPUNIT_ASSERT(plan_of(Selection(kAllModes, 0),
                           "*filter\n:INPUT DROP [0:0]\n:KUBE-FIREWALL - [0:0]\n"
                           "-A INPUT -j KUBE-FIREWALL\nCOMMIT\n",
                           plan));
    CPPUNIT_ASSERT(plan.empty());
    CPPUNIT_ASSERT(plan_of(Selection(kAllModes, 0), "", plan));
    CPPUNIT_ASSERT(plan.empty());
  }

  void reports_a_table_that_iptables_cannot_show() {
    ChainPlan plan;
    CPPUNIT_ASSERT(plan_of(Selection(kAllModes, 0),
                           "# Table `nat' is incompatible, use 'nft' tool.\n"
                           "# Table `mine' is incompatible, use 'nft' tool.\n"
                           "# Generated by iptables-save\n",
                           plan, 7));
    CPPUNIT_ASSERT(plan.unreadable == std::vector<std::string>{"nat"});
  }

  void rejects_truncated_output() {
    ChainPlan plan;
    CPPUNIT_ASSERT(!plan_of(Selection(kAllModes, 0), kSaved.substr(0, kSaved.size() - 10), plan));
  }

  void plan_does_not_depend_on_the_size_of_pieces() {
    const Selection all(kAllModes, 0);
    for (const std::size_t piece : {1u, 2u, 3u, 17u}) {
      CPPUNIT_ASSERT_EQUAL(planned(all, kSaved), planned(all, kSaved, piece));
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CleanupChainPlanTest);

}  // namespace chain_plan_test
}  // namespace sluice::cleanup
