// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The lines that a delta writes.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

#include "test/unit/iptables/backend_rig.hpp"
#include "test/unit/iptables/plan_text.hpp"

namespace sluice::test {
namespace delta_test {

ServiceSpec with(std::vector<EndpointSpec> endpoints) {
  ServiceSpec spec;
  spec.endpoints = std::move(endpoints);
  return spec;
}

class DeltaTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DeltaTest);
  CPPUNIT_TEST(equal_rules_write_nothing);
  CPPUNIT_TEST(endpoint_change_writes_the_chains_of_its_service_only);
  CPPUNIT_TEST(first_endpoint_replaces_the_reject_in_one_restore);
  CPPUNIT_TEST(last_endpoint_brings_the_reject_in_one_restore);
  CPPUNIT_TEST(new_service_is_inserted_at_the_top);
  CPPUNIT_TEST(removed_service_leaves_no_rules);
  CPPUNIT_TEST(renamed_port_replaces_its_rules);
  CPPUNIT_TEST(affinity_rewrites_chains);
  CPPUNIT_TEST(node_port_rule_stays_last);
  CPPUNIT_TEST(changed_node_port_addresses_change_only_their_rules);
  CPPUNIT_TEST(changed_node_facts_need_a_full_transaction);
  CPPUNIT_TEST(wrong_base_generation_needs_a_full_transaction);
  CPPUNIT_TEST(deltas_give_the_same_rules_as_a_full_transaction);
  CPPUNIT_TEST(many_changes_are_split_between_service_ports);
  CPPUNIT_TEST(metrics_are_updated);
  CPPUNIT_TEST_SUITE_END();

  static std::string written(const IptablesRig& rig) {
    std::string all;
    for (const std::string& restore : rig.kernel.restores) all += restore;
    return all;
  }

  void equal_rules_write_nothing() {
    IptablesRig rig;
    ok(rig.full({with({e1(), e2()})}));
    ok(rig.delta({with({e1(), e2()})}));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    ok(rig.delta({}));
    ok(rig.delta({with({e2(), e1()})}));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
  }

  void endpoint_change_writes_the_chains_of_its_service_only() {  // cases 95, 97
    IptablesRig rig;
    ServiceSpec other = with({e1(), e2()});
    other.name = "svc2";
    other.cluster_ip = "172.30.0.42";
    ok(rig.full({with({e1(), e2()}), other}));
    ok(rig.delta({with({e1(), {"10.180.2.2", 80, false, Condition::kReady}})}));
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            R"(*nat
:KUBE-SVC-XPGD46QRK7WJZT7O - [0:0]
:KUBE-SEP-JA65XANXJQ4RSJCJ - [0:0]
:KUBE-SEP-ZX7GRIZKSNUQ3LAJ - [0:0]
-A KUBE-SVC-XPGD46QRK7WJZT7O -m comment --comment "ns1/svc1:p80 cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
-A KUBE-SVC-XPGD46QRK7WJZT7O -m comment --comment "ns1/svc1:p80 -> 10.180.0.1:80" -m statistic --mode random --probability 0.5000000000 -j KUBE-SEP-SXIVWICOYRO3J4NJ
-A KUBE-SVC-XPGD46QRK7WJZT7O -m comment --comment "ns1/svc1:p80 -> 10.180.2.2:80" -j KUBE-SEP-JA65XANXJQ4RSJCJ
-A KUBE-SEP-JA65XANXJQ4RSJCJ -m comment --comment ns1/svc1:p80 -s 10.180.2.2 -j KUBE-MARK-MASQ
-A KUBE-SEP-JA65XANXJQ4RSJCJ -m comment --comment ns1/svc1:p80 -m tcp -p tcp -j DNAT --to-destination 10.180.2.2:80
-X KUBE-SEP-ZX7GRIZKSNUQ3LAJ
COMMIT
)"),
        written(rig));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{9}, rig.result.kernel_writes);
  }

  void first_endpoint_replaces_the_reject_in_one_restore() {  // case 16
    IptablesRig rig;
    ok(rig.full({with({})}));
    ok(rig.delta({with({e1()})}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.restores.size());
    // DNAT comes first: a packet between the two commits is rejected or served, never passed untranslated.
    CPPUNIT_ASSERT(written(rig).starts_with("*nat\n"));
    CPPUNIT_ASSERT(written(rig).ends_with(
        "COMMIT\n*filter\n-D KUBE-SERVICES -m comment --comment \"ns1/svc1:p80 has no endpoints\" -m tcp -p tcp "
        "-d 172.30.0.41 --dport 80 -j REJECT\nCOMMIT\n"));
    CPPUNIT_ASSERT(written(rig).find("-I KUBE-SERVICES -m comment --comment \"ns1/svc1:p80 cluster IP\"") !=
                   std::string::npos);
  }

  void last_endpoint_brings_the_reject_in_one_restore() {
    IptablesRig rig;
    ok(rig.full({with({e1()})}));
    ok(rig.delta({with({})}));
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            R"(*filter
-I KUBE-SERVICES -m comment --comment "ns1/svc1:p80 has no endpoints" -m tcp -p tcp -d 172.30.0.41 --dport 80 -j REJECT
COMMIT
*nat
:KUBE-SVC-XPGD46QRK7WJZT7O - [0:0]
:KUBE-SEP-SXIVWICOYRO3J4NJ - [0:0]
-D KUBE-SERVICES -m comment --comment "ns1/svc1:p80 cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 -j KUBE-SVC-XPGD46QRK7WJZT7O
-X KUBE-SVC-XPGD46QRK7WJZT7O
-X KUBE-SEP-SXIVWICOYRO3J4NJ
COMMIT
)"),
        written(rig));
  }

  void new_service_is_inserted_at_the_top() {
    IptablesRig rig;
    ok(rig.full({with({e1()})}));
    ServiceSpec other = with({e2()});
    other.name = "svc2";
    other.cluster_ip = "172.30.0.42";
    ok(rig.delta({other}));
    const FakeKernel::Rules& services = rig.kernel.rules("nat", "KUBE-SERVICES");
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, services.size());
    CPPUNIT_ASSERT(services[0].find("ns1/svc2:p80") != std::string::npos);
    CPPUNIT_ASSERT(written(rig).find(":KUBE-SERVICES") == std::string::npos);
    CPPUNIT_ASSERT(written(rig).find("svc1") == std::string::npos);
  }

  void removed_service_leaves_no_rules() {  // case 96
    IptablesRig rig;
    ok(rig.full({}));
    const std::string before = rig.kernel.text();
    ServiceSpec spec = with({e1(), e2()});
    spec.node_port = 30001;
    spec.vips = {"1.2.3.4"};
    spec.source_ranges = {"203.0.113.0/25"};
    spec.external_local = true;
    spec.health_check_node_port = 30000;
    ok(rig.delta({spec}));
    CPPUNIT_ASSERT(before != rig.kernel.text());
    ok(rig.delta({}, {spec}));
    CPPUNIT_ASSERT_EQUAL(before, rig.kernel.text());
    ok(rig.delta({}, {spec}));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
  }

  void renamed_port_replaces_its_rules() {  // case 90
    IptablesRig rig;
    ok(rig.full({with({e1()})}));
    ServiceSpec renamed = with({e1()});
    renamed.port_name = "p80-2";
    ok(rig.delta({renamed}, {with({e1()})}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.restores.size());
    IptablesRig fresh;
    ok(fresh.full({renamed}));
    CPPUNIT_ASSERT_EQUAL(fresh.kernel.text(), rig.kernel.text());
  }

  void affinity_rewrites_chains() {  // case 78
    IptablesRig rig;
    ok(rig.full({with({e1()})}));
    ServiceSpec sticky = with({e1()});
    sticky.affinity_seconds = 10800;
    ok(rig.delta({sticky}));
    CPPUNIT_ASSERT(written(rig).find("--set") != std::string::npos);
    CPPUNIT_ASSERT(written(rig).find("-D ") == std::string::npos);
    CPPUNIT_ASSERT(written(rig).find("-X ") == std::string::npos);
  }

  void node_port_rule_stays_last() {
    IptablesRig rig;
    ok(rig.full({}));
    for (const ServiceSpec& spec : many_services(5, 2)) ok(rig.delta({spec}));
    CPPUNIT_ASSERT(rig.kernel.rules("nat", "KUBE-SERVICES").back().ends_with("-j KUBE-NODEPORTS"));
  }

  void changed_node_port_addresses_change_only_their_rules() {
    IptablesRig rig;
    NodeSpec facts;
    facts.flags = 0;
    facts.node_port_addresses = {"192.168.0.2", "192.168.1.2"};
    ok(rig.full({with({e1()})}, facts));
    facts.node_port_addresses = {"192.168.0.2", "192.168.3.2"};
    facts.version = 2;
    ok(rig.delta({}, {}, facts));
    const std::string comment =
        "-m comment --comment \"kubernetes service nodeports; NOTE: this must be the last rule in this chain\" -d ";
    CPPUNIT_ASSERT_EQUAL("*nat\n-D KUBE-SERVICES " + comment + "192.168.0.2 -j KUBE-NODEPORTS\n-D KUBE-SERVICES " +
                             comment + "192.168.1.2 -j KUBE-NODEPORTS\n-A KUBE-SERVICES " + comment +
                             "192.168.0.2 -j KUBE-NODEPORTS\n-A KUBE-SERVICES " + comment +
                             "192.168.3.2 -j KUBE-NODEPORTS\nCOMMIT\n",
                         written(rig));
    facts.version = 3;
    ok(rig.delta({}, {}, facts));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
  }

  void changed_node_facts_need_a_full_transaction() {
    const auto need_full = [](const NodeSpec& facts) {
      IptablesRig rig;
      ok(rig.full({with({e1()})}));
      CPPUNIT_ASSERT(rig.delta({}, {}, facts) == abi::Code::kNeedFull);
      CPPUNIT_ASSERT(rig.kernel.restores.empty());
      ok(rig.full({with({e1()})}, facts));
      IptablesRig fresh;
      ok(fresh.full({with({e1()})}, facts));
      CPPUNIT_ASSERT_EQUAL(fresh.kernel.text(), rig.kernel.text());
    };
    NodeSpec facts;
    facts.mark = 1u << 15;
    need_full(facts);
    facts = {};
    facts.detector_cidr = "10.0.0.0/16";
    need_full(facts);
    facts = {};
    facts.flags |= abi::kMasqueradeAll;
    need_full(facts);
    facts = {};
    facts.ip = "192.168.0.3";
    need_full(facts);
  }

  void wrong_base_generation_needs_a_full_transaction() {
    IptablesRig rig;
    CPPUNIT_ASSERT(rig.delta({with({e1()})}) == abi::Code::kNeedFull);
    ok(rig.full({with({e1()})}));
    rig.generation += 5;
    CPPUNIT_ASSERT(rig.delta({}) == abi::Code::kNeedFull);
  }

  void deltas_give_the_same_rules_as_a_full_transaction() {
    const auto variants = [] {
      std::vector<ServiceSpec> made(12, with({e1(), e2()}));
      made[1].endpoints = {};
      made[2].endpoints = {e2()};
      made[3].node_port = 30001;
      made[4].node_port = 30001;
      made[4].external_local = true;
      made[5] = made[4];
      made[5].endpoints = {e2()};
      made[6].vips = {"1.2.3.4", "1.2.3.5"};
      made[7] = made[6];
      made[7].source_ranges = {"203.0.113.0/25", "192.168.0.0/24"};
      made[8].affinity_seconds = 60;
      made[9].internal_local = true;
      made[10].external_ips = {"192.168.99.11"};
      made[11].health_check_node_port = 30000;
      return made;
    }();
    for (const ServiceSpec& from : variants) {
      for (const ServiceSpec& to : variants) {
        IptablesRig rig;
        ok(rig.full({from}));
        ok(rig.delta({to}));
        CPPUNIT_ASSERT(rig.kernel.restores.size() <= 1);
        IptablesRig fresh;
        ok(fresh.full({to}));
        CPPUNIT_ASSERT_EQUAL(fresh.kernel.count_rules("nat"), rig.kernel.count_rules("nat"));
        CPPUNIT_ASSERT_EQUAL(fresh.kernel.count_rules("filter"), rig.kernel.count_rules("filter"));
        ok(rig.full({to}));  // writes nothing
        CPPUNIT_ASSERT(rig.kernel.restores.empty());
      }
    }
  }

  void many_changes_are_split_between_service_ports() {
    IptablesRig rig;
    ok(rig.full({}));
    const auto services = many_services(120, 10);
    ok(rig.delta(services));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig.kernel.restores.size());  // 43 lines each, 2,000 a restore
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{120 * 43}, rig.result.kernel_writes);
    ok(rig.delta({}, services));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.kernel.restores.size());
  }

  void metrics_are_updated() {
    IptablesRig rig;
    ok(rig.full(many_services(3, 10)));
    const auto metric = [&](const std::string& name, const std::string& table) {
      return rig.host.metrics.at("kubeproxy_sync_proxy_rules_iptables_" + name + "{table=\"" + table +
                                   "\",ip_family=\"IPv4\"}");
    };
    CPPUNIT_ASSERT_EQUAL(static_cast<double>(rig.kernel.count_rules("nat")), metric("total", "nat"));
    CPPUNIT_ASSERT_EQUAL(static_cast<double>(rig.kernel.count_rules("filter")), metric("total", "filter"));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{9 + 33 + 15 + 8 + 96}, rig.result.objects_owned);
    ok(rig.delta({}, {many_services(3, 10)[1]}));
    CPPUNIT_ASSERT_EQUAL(static_cast<double>(rig.kernel.count_rules("nat")), metric("total", "nat"));
    CPPUNIT_ASSERT_EQUAL(23.0, metric("last", "nat"));
    CPPUNIT_ASSERT_EQUAL(0.0, metric("last", "filter"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(DeltaTest);

}  // namespace delta_test
}  // namespace sluice::test
