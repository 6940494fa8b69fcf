// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The lines that a full transaction writes, depending on the rules in the kernel.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>

#include "test/unit/iptables/backend_rig.hpp"
#include "test/unit/iptables/plan_text.hpp"

namespace sluice::test {
namespace full_test {

std::vector<ServiceSpec> services() {
  std::vector<ServiceSpec> made = many_services(6, 3);
  made[0].node_port = 30001;
  made[1].external_local = true;
  made[1].external_ips = {"192.168.99.11"};
  made[2].endpoints.clear();
  made[3].affinity_seconds = 60;
  made[4].vips = {"1.2.3.4"};
  made[4].source_ranges = {"203.0.113.0/25"};
  return made;
}

class FullTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(FullTest);
  CPPUNIT_TEST(empty_cluster_on_a_clean_system);
  CPPUNIT_TEST(jumps_end_up_in_the_order_of_kube_proxy);
  CPPUNIT_TEST(second_full_writes_nothing);
  CPPUNIT_TEST(restart_without_drift_writes_nothing);
  CPPUNIT_TEST(one_missing_rule_is_put_back_alone);
  CPPUNIT_TEST(drift_is_repaired);
  CPPUNIT_TEST(stale_chains_of_another_process_are_removed);
  CPPUNIT_TEST(many_stale_rules_are_removed_by_one_rewrite);
  CPPUNIT_TEST(foreign_rules_stay);
  CPPUNIT_TEST(chain_with_a_foreign_reference_is_only_emptied);
  CPPUNIT_TEST(kubelets_firewall_chain_is_extended);
  CPPUNIT_TEST(misplaced_node_port_rule_is_moved_to_the_end);
  CPPUNIT_TEST(large_load_is_sent_in_batches_with_jumps_last);
  CPPUNIT_TEST(legacy_is_loaded_in_one_restore);
  CPPUNIT_TEST(replaces_ipvs_rules_in_shared_chains);
  CPPUNIT_TEST(lock_timeout_is_a_retry);
  CPPUNIT_TEST(truncated_save_is_an_error);
  CPPUNIT_TEST(bad_name_excludes_one_service_port);
  CPPUNIT_TEST(sysctl_failure_is_one_warning);
  CPPUNIT_TEST(preparation_sets_the_sysctl_and_writes_no_rule);
  CPPUNIT_TEST(missing_mangle_canary_does_not_fail_the_apply);
  CPPUNIT_TEST(selected_tools_are_logged);
  CPPUNIT_TEST_SUITE_END();

  void empty_cluster_on_a_clean_system() {  // case 94
    IptablesRig rig;
    ok(rig.full({}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.kernel.restores.size());
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            R"(*filter
:KUBE-SERVICES - [0:0]
:KUBE-EXTERNAL-SERVICES - [0:0]
:KUBE-NODEPORTS - [0:0]
:KUBE-PROXY-FIREWALL - [0:0]
:KUBE-FORWARD - [0:0]
:KUBE-PROXY-CANARY - [0:0]
:KUBE-FIREWALL - [0:0]
-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP
-A KUBE-FORWARD -m comment --comment "kubernetes forwarding rules" -m mark --mark 0x00004000/0x00004000 -j ACCEPT
-A KUBE-FORWARD -m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A KUBE-FIREWALL -m comment --comment "block incoming localnet connections" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP
-I INPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes externally-visible service portals" -j KUBE-EXTERNAL-SERVICES
-I FORWARD -m conntrack --ctstate NEW -m comment --comment "kubernetes externally-visible service portals" -j KUBE-EXTERNAL-SERVICES
-I INPUT -m comment --comment "kubernetes health check service ports" -j KUBE-NODEPORTS
-I FORWARD -m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-I OUTPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-I FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
-I INPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL
-I OUTPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL
-I FORWARD -m conntrack --ctstate NEW -m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL
-I INPUT -j KUBE-FIREWALL
-I OUTPUT -j KUBE-FIREWALL
COMMIT
*nat
:KUBE-SERVICES - [0:0]
:KUBE-NODEPORTS - [0:0]
:KUBE-POSTROUTING - [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-PROXY-CANARY - [0:0]
-A KUBE-POSTROUTING -m mark ! --mark 0x00004000/0x00004000 -j RETURN
-A KUBE-POSTROUTING -j MARK --xor-mark 0x00004000
-A KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully
-A KUBE-MARK-MASQ -j MARK --or-mark 0x00004000
-A KUBE-SERVICES -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
-I OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-I PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-I POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING
COMMIT
)"),
        rig.kernel.restores[0]);
    CPPUNIT_ASSERT_EQUAL(std::string("*mangle\n:KUBE-PROXY-CANARY - [0:0]\nCOMMIT\n"), rig.kernel.restores[1]);
  }

  void jumps_end_up_in_the_order_of_kube_proxy() {
    IptablesRig rig;
    ok(rig.full({}));
    const auto targets = [&](const char* chain) {
      std::string text;
      for (const std::string& rule : rig.kernel.rules("filter", chain)) {
        text += rule.substr(rule.rfind(' ') + 1) + " ";
      }
      return text;
    };
    CPPUNIT_ASSERT_EQUAL(std::string("KUBE-FIREWALL KUBE-PROXY-FIREWALL KUBE-NODEPORTS KUBE-EXTERNAL-SERVICES "),
                         targets("INPUT"));
    CPPUNIT_ASSERT_EQUAL(std::string("KUBE-PROXY-FIREWALL KUBE-FORWARD KUBE-SERVICES KUBE-EXTERNAL-SERVICES "),
                         targets("FORWARD"));
    CPPUNIT_ASSERT_EQUAL(std::string("KUBE-FIREWALL KUBE-PROXY-FIREWALL KUBE-SERVICES "), targets("OUTPUT"));
  }

  void second_full_writes_nothing() {
    IptablesRig rig;
    ok(rig.full(services()));
    CPPUNIT_ASSERT(rig.result.kernel_writes > 0);
    ok(rig.full(services()));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
  }

  void restart_without_drift_writes_nothing() {
    IptablesRig rig;
    ok(rig.full(services()));
    rig.restart();
    ok(rig.full(services()));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.kernel.saves);
  }

  void one_missing_rule_is_put_back_alone() {
    IptablesRig rig;
    ok(rig.full(services()));
    const std::string rule = rig.kernel.rules("nat", "KUBE-NODEPORTS").at(0);
    rig.kernel.foreign("*nat\n-D KUBE-NODEPORTS " + rule + "\nCOMMIT\n");
    ok(rig.full(services()));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.restores.size());
    CPPUNIT_ASSERT_EQUAL("*nat\n-I KUBE-NODEPORTS " + rule + "\nCOMMIT\n", rig.kernel.restores[0]);
  }

  void drift_is_repaired() {  // case 100
    IptablesRig whole;
    ok(whole.full(services()));
    const auto rule_count = [](const IptablesRig& rig) {
      return rig.kernel.count_rules("nat") + rig.kernel.count_rules("filter");
    };
    IptablesRig rig;
    ok(rig.full(services()));
    for (const auto& [table, chains] : whole.kernel.tables) {
      for (const auto& [chain, rules] : chains) {
        if (rules.empty()) continue;
        rig.kernel.tables[table][chain].clear();  // iptables -F chain
        ok(rig.full(services()));
        CPPUNIT_ASSERT_EQUAL_MESSAGE(chain, rule_count(whole), rule_count(rig));
        rig.kernel.tables[table][chain].erase(rig.kernel.tables[table][chain].begin());
        ok(rig.full(services()));
        CPPUNIT_ASSERT_EQUAL_MESSAGE(chain, rule_count(whole), rule_count(rig));
        ok(rig.full(services()));
        CPPUNIT_ASSERT(rig.kernel.restores.empty());
      }
    }
    rig.kernel.tables = FakeKernel().tables;  // nft flush ruleset
    ok(rig.full(services()));
    CPPUNIT_ASSERT_EQUAL(whole.kernel.text(), rig.kernel.text());
  }

  void stale_chains_of_another_process_are_removed() {  // case 104
    IptablesRig rig;
    ok(rig.full(services()));
    rig.restart();
    ok(rig.full({services()[5]}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.restores.size());
    IptablesRig fresh;
    ok(fresh.full({services()[5]}));
    CPPUNIT_ASSERT_EQUAL(fresh.kernel.text(), rig.kernel.text());
  }

  void many_stale_rules_are_removed_by_one_rewrite() {
    IptablesRig rig;
    ok(rig.full(many_services(80, 1)));
    rig.restart();
    const auto few = many_services(3, 1);
    ok(rig.full(few));
    const auto holds = [&](const std::string& part) {
      return std::any_of(rig.kernel.restores.begin(), rig.kernel.restores.end(),
                         [&](const std::string& text) { return text.find(part) != std::string::npos; });
    };
    CPPUNIT_ASSERT(holds(":KUBE-SERVICES - [0:0]"));
    CPPUNIT_ASSERT(!holds("-D KUBE-SERVICES"));
    CPPUNIT_ASSERT(rig.kernel.rules("nat", "KUBE-SERVICES").back().ends_with("-j KUBE-NODEPORTS"));
    ok(rig.full(few));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
  }

  void foreign_rules_stay() {  // case 104
    IptablesRig rig;
    rig.kernel.foreign("*nat\n:FOREIGN - [0:0]\n:KUBE-LOAD-BALANCER - [0:0]\n:KUBE-KUBELET-CANARY - [0:0]\n"
                         "-A PREROUTING -j FOREIGN\n-A FOREIGN -s 1.2.3.4 -j ACCEPT\nCOMMIT\n"
                         "*filter\n-A INPUT -p tcp --dport 22 -j ACCEPT\nCOMMIT\n");
    ok(rig.full(services()));
    CPPUNIT_ASSERT_EQUAL(std::string("-j FOREIGN"), rig.kernel.rules("nat", "PREROUTING").back());
    ok(rig.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::string("-p tcp --dport 22 -j ACCEPT"), rig.kernel.rules("filter", "INPUT").back());
    for (const char* chain : {"FOREIGN", "KUBE-LOAD-BALANCER", "KUBE-KUBELET-CANARY"}) {
      CPPUNIT_ASSERT(rig.kernel.has("nat", chain));
    }
  }

  void chain_with_a_foreign_reference_is_only_emptied() {
    IptablesRig rig;
    ok(rig.full(services()));
    const std::string chain = iptables::name(plan(services()[5]).chains[0]);
    rig.kernel.foreign("*nat\n:FOREIGN - [0:0]\n-A FOREIGN -j " + chain + "\nCOMMIT\n");
    std::vector<ServiceSpec> rest = services();
    rest.pop_back();
    ok(rig.full(rest));
    CPPUNIT_ASSERT(rig.kernel.rules("nat", chain).empty());
    ok(rig.full(rest));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
  }

  void kubelets_firewall_chain_is_extended() {
    IptablesRig rig;
    rig.kernel.foreign("*filter\n:KUBE-FIREWALL - [0:0]\n-A KUBE-FIREWALL -m mark --mark 0x8000/0x8000 -j DROP\n"
                         "-A INPUT -j KUBE-FIREWALL\nCOMMIT\n");
    ok(rig.full({}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.kernel.rules("filter", "KUBE-FIREWALL").size());
    ok(rig.full({}));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
    ok(rig.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.kernel.rules("filter", "KUBE-FIREWALL").size());
  }

  void misplaced_node_port_rule_is_moved_to_the_end() {
    IptablesRig rig;
    ok(rig.full(services()));
    FakeKernel::Rules& present = rig.kernel.tables["nat"]["KUBE-SERVICES"];
    std::rotate(present.begin(), present.end() - 1, present.end());
    ok(rig.full(services()));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, rig.result.kernel_writes);
    const FakeKernel::Rules& rules = rig.kernel.rules("nat", "KUBE-SERVICES");
    CPPUNIT_ASSERT(rules.back().ends_with("-j KUBE-NODEPORTS"));
    CPPUNIT_ASSERT(!rules.front().ends_with("-j KUBE-NODEPORTS"));
  }

  void large_load_is_sent_in_batches_with_jumps_last() {
    IptablesRig rig;
    ok(rig.full(many_services(200, 10)));
    std::vector<std::string>& sent = rig.kernel.restores;
    CPPUNIT_ASSERT_EQUAL(std::size_t{6}, sent.size());  // 43 lines a service port, 2,000 a restore; the canary
    for (std::size_t i = 0; i < sent.size(); ++i) {
      CPPUNIT_ASSERT_EQUAL(i == 4, sent[i].find("-I PREROUTING") != std::string::npos);
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{200 * 32 + 8}, rig.kernel.count_rules("nat"));
  }

  void legacy_is_loaded_in_one_restore() {
    IptablesRig rig;
    rig.kernel.use_legacy();
    ok(rig.full(many_services(200, 10)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.kernel.restores.size());
  }

  void replaces_ipvs_rules_in_shared_chains() {
    IptablesRig rig;
    rig.kernel.foreign("*nat\n:KUBE-SERVICES - [0:0]\n:KUBE-POSTROUTING - [0:0]\n:KUBE-MARK-MASQ - [0:0]\n"
                         "-A KUBE-SERVICES -m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT\n"
                         "-A KUBE-POSTROUTING -m set --match-set KUBE-LOOP-BACK dst,dst,src -j MASQUERADE\n"
                         "-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000\n"
                         "-A PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\nCOMMIT\n");
    ok(rig.full(services()));
    IptablesRig fresh;
    ok(fresh.full(services()));
    for (const char* chain : {"KUBE-SERVICES", "KUBE-POSTROUTING", "PREROUTING"}) {
      CPPUNIT_ASSERT_EQUAL(fresh.kernel.rules("nat", chain).size(), rig.kernel.rules("nat", chain).size());
    }
    CPPUNIT_ASSERT(rig.kernel.restores[0].find(":KUBE-MARK-MASQ") == std::string::npos);  // it was correct already
  }

  void lock_timeout_is_a_retry() {
    IptablesRig rig;
    rig.kernel.fail_next = 4;
    CPPUNIT_ASSERT(rig.full({}) == abi::Code::kRetry);
    CPPUNIT_ASSERT(std::string(rig.error.message).find("xtables lock") != std::string::npos);
    ok(rig.full({}));
  }

  void truncated_save_is_an_error() {
    IptablesRig rig;
    ok(rig.full(services()));
    rig.kernel.cut_save = true;
    CPPUNIT_ASSERT(rig.full(services()) == abi::Code::kKernel);
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
  }

  void bad_name_excludes_one_service_port() {
    IptablesRig rig;
    std::vector<ServiceSpec> some = services();
    some[2].name = "x\n-A INPUT -j ACCEPT";
    ok(rig.full(some));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.not_programmed());
    CPPUNIT_ASSERT(rig.kernel.text().find("INPUT -j ACCEPT") == std::string::npos);
    ok(rig.delta({some[2]}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.not_programmed());
  }

  void sysctl_failure_is_one_warning() {
    IptablesRig rig;
    rig.kernel.sysctl_error = 30;  // EROFS
    ok(rig.full({}));
    ok(rig.full({}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.events.size());
    const auto warnings = std::count_if(rig.host.lines.begin(), rig.host.lines.end(), [](const auto& line) {
      return line.first == abi::Severity::kWarning && line.second.find("route_localnet") != std::string::npos;
    });
    CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t{1}, warnings);
    IptablesRig without;
    without.kernel.sysctl_error = 30;
    NodeSpec facts;
    facts.flags = abi::kNodePortsMatchAll;
    ok(without.full({}, facts));
    CPPUNIT_ASSERT(without.host.events.empty());
  }

  // As called by --init-only.
  void preparation_sets_the_sysctl_and_writes_no_rule() {
    const auto warned = [](IptablesRig& rig, std::uint32_t flags) {
      rig.kernel.sysctl_error = 30;
      abi::NodeFacts node{};
      node.struct_size = sizeof(node);
      node.flags = flags;
      ok(rig.prepare(node));
      CPPUNIT_ASSERT(rig.kernel.restores.empty());
      return rig.host.events;
    };
    IptablesRig rig, without, six(abi::Family::kIpv6);
    CPPUNIT_ASSERT(std::vector<std::string>{"RouteLocalnetFailed"} == warned(rig, abi::kNodePortsOnLocalhost));
    CPPUNIT_ASSERT(warned(without, abi::kNodePortsMatchAll).empty());
    CPPUNIT_ASSERT(warned(six, abi::kNodePortsOnLocalhost).empty());
  }

  void missing_mangle_canary_does_not_fail_the_apply() {
    IptablesRig rig;
    ok(rig.full({}));
    rig.kernel.tables["mangle"].erase("KUBE-PROXY-CANARY");
    rig.kernel.refuse = {":KUBE-PROXY-CANARY"};
    ok(rig.full({}));
    CPPUNIT_ASSERT(rig.host.lines.back().second.starts_with("make the chain KUBE-PROXY-CANARY in table mangle: "));
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kOk);
  }

  void selected_tools_are_logged() {
    IptablesRig rig;
    ok(rig.full({}));
    CPPUNIT_ASSERT_EQUAL(std::string("using iptables 1.8.9 (nf_tables), /usr/sbin/iptables-nft-restore"),
                         rig.host.lines.at(0).second);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(FullTest);

}  // namespace full_test
}  // namespace sluice::test
