// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The first full transaction while the old backend serves: no packet may meet a part of the new rules.
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/unit/iptables/backend_rig.hpp"
#include "test/unit/iptables/ipvs_rules.hpp"

namespace sluice::test {
namespace backend_takeover_test {

// 300 service ports need several restores.
std::vector<ServiceSpec> services(std::size_t count = 300) {
  std::vector<ServiceSpec> made = many_services(count, 3);
  made[0].node_port = 30001;
  made[1].vips = {"198.51.100.7"};
  made[1].source_ranges = {"203.0.113.0/25"};
  made[2].endpoints.clear();
  return made;
}

// Only in shared chains.
std::string dispatch_to(const ServiceSpec& service) {
  const std::string key = service.namespace_name + "/" + service.name + ":" + service.port_name + "tcp";
  return "-j " + iptables::name(iptables::ChainId{iptables::ChainKind::kCluster, netfilter::base32_hash(key)});
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class IptablesTakeoverTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(IptablesTakeoverTest);
  CPPUNIT_TEST(entry_jumps_are_one_commit);
  CPPUNIT_TEST(drop_rules_are_written_last);
  CPPUNIT_TEST(chains_of_ipvs_mode_stay);
  CPPUNIT_TEST(ipvs_mode_keeps_its_rules_until_the_last_commit);
  CPPUNIT_TEST(takeover_gives_the_same_rules_as_a_full);
  CPPUNIT_TEST(own_rules_are_adopted);
  CPPUNIT_TEST(refused_rule_excludes_one_service_port);
  CPPUNIT_TEST(refused_service_ports_are_found_in_unreferenced_chains);
  CPPUNIT_TEST(later_transactions_are_normal);
  CPPUNIT_TEST(takeover_continues_after_a_failure);
  CPPUNIT_TEST_SUITE_END();

 public:
  void entry_jumps_are_one_commit() {
    IptablesRig rig;
    rig.restart(abi::kCreatePredecessorServes);
    ok(rig, rig.full(services()));
    CPPUNIT_ASSERT(rig.kernel.restores.size() > 4);
    std::size_t with_dispatch = 0;
    for (const std::string& restore : rig.kernel.restores) {
      const bool dispatch = has(restore, " -j KUBE-SVC-") && has(restore, "-A KUBE-SERVICES ");
      CPPUNIT_ASSERT_EQUAL(dispatch, has(restore, "-I PREROUTING "));
      if (!dispatch) continue;
      ++with_dispatch;
      const auto lines = [&](const std::string& part) {
        std::size_t count = 0;
        for (std::size_t at = restore.find(part); at != restore.npos; at = restore.find(part, at + 1)) ++count;
        return count;
      };
      CPPUNIT_ASSERT_EQUAL(std::size_t{299 + 1 + 1 + 1}, lines("\n-A KUBE-SERVICES "));  // a VIP, the tail, one REJECT
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, lines("*nat\n"));
      CPPUNIT_ASSERT(restore.find("*filter\n") < restore.find("*nat\n"));
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, with_dispatch);
  }

  void drop_rules_are_written_last() {
    IptablesRig rig;
    rig.restart(abi::kCreatePredecessorServes);
    ok(rig, rig.full(services()));
    const auto& all = rig.kernel.restores;
    const auto first = [&](const std::string& part) {
      return std::find_if(all.begin(), all.end(), [&](const std::string& each) { return has(each, part); }) - all.begin();
    };
    CPPUNIT_ASSERT(first("-A KUBE-PROXY-FIREWALL ") < static_cast<std::ptrdiff_t>(all.size()));
    CPPUNIT_ASSERT(first("-A KUBE-PROXY-FIREWALL ") > first("-I PREROUTING "));
    CPPUNIT_ASSERT_EQUAL(first("-A KUBE-PROXY-FIREWALL "), first("load balancer firewall"));
  }

  void chains_of_ipvs_mode_stay() {
    IptablesRig rig;
    rig.kernel.foreign(ipvs_rules(true));
    const auto before = rig.kernel.tables;
    rig.restart(abi::kCreatePredecessorServes);
    ok(rig, rig.full(services()));
    for (const char* chain : {"KUBE-NODE-PORT", "KUBE-SOURCE-RANGES-FIREWALL", "KUBE-IPVS-FILTER", "KUBE-IPVS-OUT-FILTER"}) {
      CPPUNIT_ASSERT(before.at("filter").at(chain) == rig.kernel.rules("filter", chain));
    }
    CPPUNIT_ASSERT(before.at("nat").at("KUBE-LOAD-BALANCER") == rig.kernel.rules("nat", "KUBE-LOAD-BALANCER"));
    CPPUNIT_ASSERT(!has(rig.kernel.text(), "--match-set"));  // so that ipvs mode can remove its sets
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.rules("nat", "PREROUTING").size());
    const std::string outcomes = rig.tracer().outcomes({"10.0.0.9", "172.30.0.1", "tcp", 80});
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1:8080 10.0.0.2:8080 10.0.0.3:8080"), outcomes);
  }

  void ipvs_mode_keeps_its_rules_until_the_last_commit() {
    IptablesRig rig;
    rig.kernel.foreign(ipvs_rules(true));
    const auto before = rig.kernel.tables;
    rig.restart(abi::kCreatePredecessorServes);
    rig.kernel.refuse = {"-A KUBE-SERVICES -m comment --comment \"kubernetes service nodeports"};
    CPPUNIT_ASSERT(rig.full(services()) != abi::Code::kOk);
    CPPUNIT_ASSERT(rig.host.failed.empty());
    for (const auto& [chain, rules] : before.at("nat")) {
      CPPUNIT_ASSERT_MESSAGE(chain, rules == rig.kernel.rules("nat", chain));
    }
    for (const auto& [chain, rules] : before.at("filter")) {
      if (!chain.starts_with("KUBE-") || chain == "KUBE-FORWARD") continue;
      CPPUNIT_ASSERT_MESSAGE(chain, rules == rig.kernel.rules("filter", chain));
    }
  }

  void takeover_gives_the_same_rules_as_a_full() {
    IptablesRig plain;
    ok(plain.full(services()));
    IptablesRig rig;
    rig.kernel.foreign(ipvs_rules(true));
    rig.restart(abi::kCreatePredecessorServes);
    ok(rig, rig.full(services()));
    ok(rig.verify());
    rig.restart();
    ok(rig, rig.full(services()));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    for (const auto& [chain, rules] : plain.kernel.tables["nat"]) {
      const FakeKernel::Rules& there = rig.kernel.rules("nat", chain);
      CPPUNIT_ASSERT_MESSAGE(chain, std::is_permutation(rules.begin(), rules.end(), there.begin(), there.end()));
    }
  }

  void own_rules_are_adopted() {
    IptablesRig rig;
    ok(rig.full(services()));
    rig.restart(abi::kCreatePredecessorServes);
    ok(rig, rig.full(services()));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
    rig.restart(abi::kCreatePredecessorServes);
    std::vector<ServiceSpec> fewer = services();
    fewer.pop_back();
    fewer[5].endpoints.pop_back();
    ok(rig, rig.full(fewer));
    IptablesRig expected;
    ok(expected.full(fewer));
    CPPUNIT_ASSERT_EQUAL(expected.kernel.tables["nat"].size(), rig.kernel.tables["nat"].size());
    ok(rig.verify());
  }

  void refused_rule_excludes_one_service_port() {
    IptablesRig rig;
    rig.restart(abi::kCreatePredecessorServes);
    std::vector<ServiceSpec> some = services(20);
    rig.kernel.refuse = {dispatch_to(some[7])};
    ok(rig, rig.full(some));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.not_programmed());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    CPPUNIT_ASSERT(has(rig.host.failed[0], some[7].name + ":"));
    rig.kernel.refuse.clear();
    ok(rig, rig.full(some));
    ok(rig.verify());
    IptablesRig expected;
    ok(expected.full(some));
    CPPUNIT_ASSERT_EQUAL(expected.kernel.count_rules("nat"), rig.kernel.count_rules("nat"));
  }

  // Shared chains keep the rules of the old backend until one COMMIT replaces them with all rules of the new one.
  void refused_service_ports_are_found_in_unreferenced_chains() {
    for (const auto naming : {FakeKernel::Naming::kLine, FakeKernel::Naming::kCommit, FakeKernel::Naming::kNextLine,
                              FakeKernel::Naming::kNone}) {
      IptablesRig rig;
      rig.restart(abi::kCreatePredecessorServes);
      rig.kernel.naming = naming;
      std::vector<ServiceSpec> some = services(20);
      rig.kernel.refuse = {dispatch_to(some[7]), dispatch_to(some[12])};
      ok(rig, rig.full(some));
      CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.host.not_programmed());
      bool served = false;
      for (const std::string& restore : rig.kernel.restores) {
        if (!has(restore, ":KUBE-SERVICES - [0:0]\n")) continue;
        served = has(restore, dispatch_to(some[0])) && has(restore, dispatch_to(some[19]));
        const bool made = !has(restore, "-A ") || &restore == &rig.kernel.restores.front();
        CPPUNIT_ASSERT_MESSAGE(restore, served || made);
      }
      CPPUNIT_ASSERT(served);
      rig.kernel.refuse.clear();
      some.erase(some.begin() + 12);
      some.erase(some.begin() + 7);
      IptablesRig expected;
      ok(expected.full(some));
      for (const char* table : {"nat", "filter"}) {
        CPPUNIT_ASSERT_EQUAL(expected.kernel.tables[table].size(), rig.kernel.tables[table].size());
        for (const auto& [chain, rules] : expected.kernel.tables[table]) {
          const FakeKernel::Rules& there = rig.kernel.rules(table, chain);
          CPPUNIT_ASSERT_MESSAGE(chain, std::is_permutation(rules.begin(), rules.end(), there.begin(), there.end()));
        }
      }
      ok(rig.verify());
    }
  }

  void later_transactions_are_normal() {
    IptablesRig rig;
    rig.restart(abi::kCreatePredecessorServes);
    std::vector<ServiceSpec> some = services(20);
    ok(rig, rig.full(some));
    ServiceSpec more = many_services(21, 2).back();
    ok(rig, rig.delta({more}));
    CPPUNIT_ASSERT(has(rig.kernel.restores.at(0), "-I KUBE-SERVICES "));
    some.push_back(more);
    some.push_back(many_services(22, 2).back());
    ok(rig, rig.full(some));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.restores.size());
    CPPUNIT_ASSERT(has(rig.kernel.restores.at(0), "-I KUBE-SERVICES "));
    ok(rig.verify());
  }

  void takeover_continues_after_a_failure() {
    IptablesRig rig;
    rig.restart(abi::kCreatePredecessorServes);
    rig.kernel.fail_next = 4;
    CPPUNIT_ASSERT(rig.full(services()) == abi::Code::kRetry);
    ok(rig, rig.full(services()));
    CPPUNIT_ASSERT(!has(rig.kernel.restores.at(0), "PREROUTING"));
    CPPUNIT_ASSERT(!has(rig.kernel.restores.at(0), "-I KUBE-SERVICES"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IptablesTakeoverTest);

}  // namespace backend_takeover_test
}  // namespace sluice::test
