// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Conformance cases of load balancers, affinity and the sync engine that depend on rules only.
// The numbers are those of the behaviour reference, 12 F, H and J.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/unit/iptables/backend_rig.hpp"
#include "test/unit/iptables/plan_text.hpp"

namespace sluice::test {
namespace cases_test {

std::string all_restores(const IptablesRig& rig) {
  std::string text;
  for (const std::string& restore : rig.kernel.restores) text += restore;
  return text;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

ServiceSpec balanced(std::vector<EndpointSpec> endpoints) {
  ServiceSpec spec;
  spec.node_port = 30001;
  spec.endpoints = std::move(endpoints);
  return spec;
}

class CasesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CasesTest);
  CPPUNIT_TEST(node_port_works_without_a_load_balancer_address);
  CPPUNIT_TEST(two_load_balancer_addresses);
  CPPUNIT_TEST(no_firewall_chain_without_source_ranges);
  CPPUNIT_TEST(removed_address_removes_its_rules);
  CPPUNIT_TEST(affinity_rules_come_before_balancing_rules);
  CPPUNIT_TEST(removed_endpoint_of_a_sticky_client);
  CPPUNIT_TEST(big_clusters_have_no_endpoint_comments);
  CPPUNIT_TEST(comments_are_not_drift);
  CPPUNIT_TEST(delta_across_the_threshold_writes_only_changed_chains);
  CPPUNIT_TEST(unused_endpoints_are_counted);
  CPPUNIT_TEST(liberal_conntrack_has_no_rule_for_invalid_packets);
  CPPUNIT_TEST(old_iptables_does_not_use_random_fully);
  CPPUNIT_TEST(no_local_endpoints_are_counted);
  CPPUNIT_TEST(flush_of_one_table);
  CPPUNIT_TEST_SUITE_END();

  static std::string outcomes(const IptablesRig& rig, const Packet& packet) { return rig.tracer().outcomes(packet); }

  // The core delivers no frontend for a status address with ipMode Proxy.
  void node_port_works_without_a_load_balancer_address() {  // case 54
    IptablesRig rig;
    ok(rig.full({balanced({e1()})}));
    CPPUNIT_ASSERT_EQUAL(std::string("PASS"), outcomes(rig, {"203.0.113.2", "1.2.3.4"}));
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80*"), outcomes(rig, {"203.0.113.2", "192.168.0.2", "tcp", 30001}));
  }

  void two_load_balancer_addresses() {  // case 55
    ServiceSpec spec = balanced({e1()});
    spec.vips = {"1.2.3.4", "1.2.3.5"};
    IptablesRig rig;
    ok(rig.full({spec}));
    for (const std::string& vip : spec.vips) {
      CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80*"), outcomes(rig, {"203.0.113.2", vip}));
    }
  }

  // The core delivers no ranges if one of them covers all addresses, or if none is of this family.
  void no_firewall_chain_without_source_ranges() {  // case 59
    ServiceSpec spec = balanced({e1()});
    spec.vips = {"1.2.3.4"};
    IptablesRig rig;
    ok(rig.full({spec}));
    CPPUNIT_ASSERT(rig.kernel.text().find("KUBE-FW-") == std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80*"), outcomes(rig, {"198.51.100.1", "1.2.3.4"}));
  }

  void removed_address_removes_its_rules() {  // case 62
    ServiceSpec spec = balanced({e1()});
    spec.vips = {"1.2.3.4"};
    spec.source_ranges = {"203.0.113.0/25"};
    IptablesRig rig;
    ok(rig.full({spec}));
    spec.vips.clear();
    ok(rig.delta({spec}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.restores.size());
    CPPUNIT_ASSERT(rig.kernel.text().find("1.2.3.4") == std::string::npos);
    CPPUNIT_ASSERT(rig.kernel.text().find("KUBE-FW-") == std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80*"), outcomes(rig, {"203.0.113.2", "192.168.0.2", "tcp", 30001}));
  }

  void affinity_rules_come_before_balancing_rules() {  // case 73
    ServiceSpec spec = balanced({e1(), e2()});
    spec.affinity_seconds = 10800;
    const std::string rules = lines_of(plan(spec), "KUBE-SVC-");
    const std::size_t last_memory = rules.rfind("--rcheck --seconds 10800 --reap");
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, count(rules, "--rcheck --seconds 10800 --reap"));
    CPPUNIT_ASSERT(last_memory < rules.find("--probability"));
    const std::string endpoints = lines_of(plan(spec), "KUBE-SEP-");
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, count(endpoints, " --set -m tcp -p tcp -j DNAT "));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, count(endpoints, "--set"));
  }

  void removed_endpoint_of_a_sticky_client() {  // case 75
    ServiceSpec spec = balanced({e1(), e2()});
    spec.affinity_seconds = 10800;
    ServiceSpec other = spec;
    other.name = "svc2";
    other.cluster_ip = "172.30.0.42";
    other.node_port = 0;
    IptablesRig rig;
    ok(rig.full({spec, other}));
    const Packet first{"10.0.0.2", spec.cluster_ip, "tcp", 80, "cni0"};
    const Packet second{"10.0.0.2", other.cluster_ip, "tcp", 80, "cni0"};
    const auto remembering = [&](const Packet& packet) {
      Tracer tracer = rig.tracer();
      tracer.remember("KUBE-SEP-ZX7GRIZKSNUQ3LAJ", "10.0.0.2");
      return tracer.outcomes(packet);
    };
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.2.1:80"), remembering(first));
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80 10.180.2.1:80"),
                         remembering(second));  // it has its own affinity lists
    spec.endpoints = {e1()};
    ok(rig.delta({spec}));
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80"), remembering(first));
  }

  // 1,000 endpoints and 1,001, two of them with affinity and external addresses.
  static std::vector<ServiceSpec> cluster_of(std::size_t endpoints) {
    std::vector<ServiceSpec> services = many_services(100, 10);
    services[0].node_port = 30001;
    services[1].affinity_seconds = 60;
    services[1].external_local = true;
    services[1].external_ips = {"192.168.99.11"};
    for (std::size_t i = 1000; i < endpoints; ++i) {
      services[2].endpoints.push_back({"10.99.0." + std::to_string(i - 999), 8080, false, Condition::kReady});
    }
    return services;
  }

  void big_clusters_have_no_endpoint_comments() {  // case 99
    IptablesRig small;
    ok(small.full(cluster_of(1000)));
    IptablesRig big;
    ok(big.full(cluster_of(1001)));
    std::size_t bare = 0;
    for (const auto& [chain, rules] : big.kernel.tables.at("nat")) {
      const auto id = iptables::parse_chain(chain);
      const bool of_endpoints = id && iptables::comments_are_optional(id->kind);
      for (const std::string& rule : rules) {
        const bool cluster_ip = rule.find(" cluster IP\"") != std::string::npos;  // first in its SVC chain
        const bool comment = rule.find("--comment") != std::string::npos;
        if (of_endpoints) CPPUNIT_ASSERT_EQUAL_MESSAGE(rule, cluster_ip, comment);
        bare += of_endpoints && !comment ? 1 : 0;
      }
      const auto before = small.kernel.tables.at("nat").find(chain);
      if (!of_endpoints && before != small.kernel.tables.at("nat").end()) CPPUNIT_ASSERT(before->second == rules);
    }
    // A share and two rules for each endpoint; the second service has an affinity rule and one local endpoint twice.
    CPPUNIT_ASSERT_EQUAL(std::size_t{3 * 1001 + 10 + 2}, bare);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, count(small.kernel.text(), "  -s 10.0.0.1 -j KUBE-MARK-MASQ"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, count(big.kernel.text(), "  -s 10.0.0.1 -j KUBE-MARK-MASQ"));
  }

  void comments_are_not_drift() {  // case 99
    for (const std::size_t first : {1000u, 1001u}) {
      IptablesRig rig;
      ok(rig.full(cluster_of(first)));
      rig.restart();
      // The same rules with or without comments: nothing to write, no drift.
      for (auto& [chain, rules] : rig.kernel.tables["nat"]) {
        const auto id = iptables::parse_chain(chain);
        if (!id || !iptables::comments_are_optional(id->kind)) continue;
        for (std::string& rule : rules) {
          const std::size_t end = rule.find(rule.find('"') == 21 ? "\" " : " ", 22);
          rule = rule.starts_with("-m comment") ? rule.substr(end + (rule[end] == '"' ? 2 : 1))
                                                : "-m comment --comment \"something else\" " + rule;
        }
      }
      ok(rig.full(cluster_of(first)));
      CPPUNIT_ASSERT(rig.kernel.restores.empty());
      rig.kernel.foreign("*filter\n:FOREIGN - [0:0]\nCOMMIT\n");
      ok(rig.verify());
    }
  }

  void delta_across_the_threshold_writes_only_changed_chains() {  // case 99
    IptablesRig rig;
    ok(rig.full(cluster_of(1000)));
    const auto grown = cluster_of(1001);
    ok(rig.delta({grown[2]}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.restores.size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1 + 1 + 1 + 11 + 2}, rig.result.kernel_writes);  // SVC and the new SEP
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, count(all_restores(rig), "--comment"));         // the cluster IP
    ok(rig.full(grown));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
    ok(rig.delta({cluster_of(1000)[2]}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{11}, count(all_restores(rig), "--comment"));
    ok(rig.full(cluster_of(1000)));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
  }

  void unused_endpoints_are_counted() {  // case 99
    std::vector<ServiceSpec> services = cluster_of(1000);
    services[3].endpoints.push_back({"10.99.1.1", 8080, false, Condition::kGone});
    IptablesRig rig;
    ok(rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, count(all_restores(rig), " -> "));
    ok(rig.delta({}, {services[4]}));
    services[5].endpoints.pop_back();
    ok(rig.delta({services[5]}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{9}, count(all_restores(rig), " -> "));
  }

  void liberal_conntrack_has_no_rule_for_invalid_packets() {  // case 101
    NodeSpec facts;
    facts.flags |= abi::kConntrackTcpLiberal;
    IptablesRig rig;
    ok(rig.full({}, facts));
    CPPUNIT_ASSERT(rig.kernel.text().find("INVALID") == std::string::npos);
    ok(rig.full({}, facts));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
  }

  void old_iptables_does_not_use_random_fully() {  // case 102
    IptablesRig rig;
    rig.kernel.use_version({1, 6, 1});
    ok(rig.full({}));
    CPPUNIT_ASSERT(rig.kernel.rules("nat", "KUBE-POSTROUTING").back().ends_with("-j MASQUERADE"));
    rig.kernel.use_version({1, 6, 2});
    ok(rig.full({}));
    CPPUNIT_ASSERT(rig.kernel.rules("nat", "KUBE-POSTROUTING").back().ends_with("-j MASQUERADE --random-fully"));
  }

  void no_local_endpoints_are_counted() {  // case 103
    const std::string metric = "kubeproxy_sync_proxy_rules_no_local_endpoints_total{traffic_policy=\"";
    IptablesRig rig;
    const auto counted = [&](const char* policy) {
      return rig.host.metrics.at(metric + policy + "\",ip_family=\"IPv4\"}");
    };
    ServiceSpec spec = balanced({e2()});
    spec.internal_local = true;
    ok(rig.full({spec}));
    CPPUNIT_ASSERT_EQUAL(1.0, counted("internal"));
    CPPUNIT_ASSERT_EQUAL(0.0, counted("external"));
    spec.internal_local = false;
    spec.external_local = true;
    ok(rig.delta({spec}));
    CPPUNIT_ASSERT_EQUAL(0.0, counted("internal"));
    CPPUNIT_ASSERT_EQUAL(1.0, counted("external"));
    spec.internal_local = true;
    ok(rig.full({spec}));
    CPPUNIT_ASSERT_EQUAL(1.0, counted("internal"));
    CPPUNIT_ASSERT_EQUAL(1.0, counted("external"));
    spec.endpoints.clear();
    ok(rig.delta({spec}));
    CPPUNIT_ASSERT_EQUAL(0.0, counted("internal"));
    CPPUNIT_ASSERT_EQUAL(0.0, counted("external"));
  }

  // A flush of filter leaves the canary in mangle, but must be detected.
  void flush_of_one_table() {  // case 100
    for (const bool legacy : {false, true}) {
      IptablesRig rig;
      if (legacy) rig.kernel.use_legacy();
      ok(rig.full({balanced({e1()})}));
      rig.kernel.foreign("*nat\n:FOREIGN - [0:0]\nCOMMIT\n");
      rig.kernel.tables["filter"] = FakeKernel().tables["filter"];
      rig.host.clock += 1000ull * 1000 * 1000;
      CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
      ok(rig.full({balanced({e1()})}));
      ok(rig.verify());
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CasesTest);

}  // namespace cases_test
}  // namespace sluice::test
