// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The first full transaction while the old backend serves: no packet may meet a part of the new rules.
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/unit/iptables/bench.hpp"
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

  static void ok(abi::Code code) { CPPUNIT_ASSERT_EQUAL(std::int32_t{0}, static_cast<std::int32_t>(code)); }
  static void ok(const Bench& bench, abi::Code code) {
    CPPUNIT_ASSERT_EQUAL_MESSAGE(bench.error.message, std::int32_t{0}, static_cast<std::int32_t>(code));
  }

 public:
  void entry_jumps_are_one_commit() {
    Bench bench;
    bench.restart(abi::kCreatePredecessorServes);
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT(bench.kernel.restores.size() > 4);
    std::size_t with_dispatch = 0;
    for (const std::string& restore : bench.kernel.restores) {
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
    Bench bench;
    bench.restart(abi::kCreatePredecessorServes);
    ok(bench, bench.full(services()));
    const auto& all = bench.kernel.restores;
    const auto first = [&](const std::string& part) {
      return std::find_if(all.begin(), all.end(), [&](const std::string& each) { return has(each, part); }) - all.begin();
    };
    CPPUNIT_ASSERT(first("-A KUBE-PROXY-FIREWALL ") < static_cast<std::ptrdiff_t>(all.size()));
    CPPUNIT_ASSERT(first("-A KUBE-PROXY-FIREWALL ") > first("-I PREROUTING "));
    CPPUNIT_ASSERT_EQUAL(first("-A KUBE-PROXY-FIREWALL "), first("load balancer firewall"));
  }

  void chains_of_ipvs_mode_stay() {
    Bench bench;
    bench.kernel.foreign(ipvs_rules(true));
    const auto before = bench.kernel.tables;
    bench.restart(abi::kCreatePredecessorServes);
    ok(bench, bench.full(services()));
    for (const char* chain : {"KUBE-NODE-PORT", "KUBE-SOURCE-RANGES-FIREWALL", "KUBE-IPVS-FILTER", "KUBE-IPVS-OUT-FILTER"}) {
      CPPUNIT_ASSERT(before.at("filter").at(chain) == bench.kernel.rules("filter", chain));
    }
    CPPUNIT_ASSERT(before.at("nat").at("KUBE-LOAD-BALANCER") == bench.kernel.rules("nat", "KUBE-LOAD-BALANCER"));
    CPPUNIT_ASSERT(!has(bench.kernel.text(), "--match-set"));  // so that ipvs mode can remove its sets
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.kernel.rules("nat", "PREROUTING").size());
    const std::string outcomes = bench.tracer().outcomes({"10.0.0.9", "172.30.0.1", "tcp", 80});
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1:8080 10.0.0.2:8080 10.0.0.3:8080"), outcomes);
  }

  void ipvs_mode_keeps_its_rules_until_the_last_commit() {
    Bench bench;
    bench.kernel.foreign(ipvs_rules(true));
    const auto before = bench.kernel.tables;
    bench.restart(abi::kCreatePredecessorServes);
    bench.kernel.refuse = {"-A KUBE-SERVICES -m comment --comment \"kubernetes service nodeports"};
    CPPUNIT_ASSERT(bench.full(services()) != abi::Code::kOk);
    CPPUNIT_ASSERT(bench.host.failed.empty());
    for (const auto& [chain, rules] : before.at("nat")) {
      CPPUNIT_ASSERT_MESSAGE(chain, rules == bench.kernel.rules("nat", chain));
    }
    for (const auto& [chain, rules] : before.at("filter")) {
      if (!chain.starts_with("KUBE-") || chain == "KUBE-FORWARD") continue;
      CPPUNIT_ASSERT_MESSAGE(chain, rules == bench.kernel.rules("filter", chain));
    }
  }

  void takeover_gives_the_same_rules_as_a_full() {
    Bench plain;
    ok(plain.full(services()));
    Bench bench;
    bench.kernel.foreign(ipvs_rules(true));
    bench.restart(abi::kCreatePredecessorServes);
    ok(bench, bench.full(services()));
    ok(bench.verify());
    bench.restart();
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, bench.result.kernel_writes);
    for (const auto& [chain, rules] : plain.kernel.tables["nat"]) {
      const FakeKernel::Rules& there = bench.kernel.rules("nat", chain);
      CPPUNIT_ASSERT_MESSAGE(chain, std::is_permutation(rules.begin(), rules.end(), there.begin(), there.end()));
    }
  }

  void own_rules_are_adopted() {
    Bench bench;
    ok(bench.full(services()));
    bench.restart(abi::kCreatePredecessorServes);
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, bench.result.kernel_writes);
    CPPUNIT_ASSERT(bench.kernel.restores.empty());
    bench.restart(abi::kCreatePredecessorServes);
    std::vector<ServiceSpec> fewer = services();
    fewer.pop_back();
    fewer[5].endpoints.pop_back();
    ok(bench, bench.full(fewer));
    Bench expected;
    ok(expected.full(fewer));
    CPPUNIT_ASSERT_EQUAL(expected.kernel.tables["nat"].size(), bench.kernel.tables["nat"].size());
    ok(bench.verify());
  }

  void refused_rule_excludes_one_service_port() {
    Bench bench;
    bench.restart(abi::kCreatePredecessorServes);
    std::vector<ServiceSpec> some = services(20);
    bench.kernel.refuse = {dispatch_to(some[7])};
    ok(bench, bench.full(some));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.host.not_programmed());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.host.failed.size());
    CPPUNIT_ASSERT(has(bench.host.failed[0], some[7].name + ":"));
    bench.kernel.refuse.clear();
    ok(bench, bench.full(some));
    ok(bench.verify());
    Bench expected;
    ok(expected.full(some));
    CPPUNIT_ASSERT_EQUAL(expected.kernel.count_rules("nat"), bench.kernel.count_rules("nat"));
  }

  // Shared chains keep the rules of the old backend until one COMMIT replaces them with all rules of the new one.
  void refused_service_ports_are_found_in_unreferenced_chains() {
    for (const auto naming : {FakeKernel::Naming::kLine, FakeKernel::Naming::kCommit, FakeKernel::Naming::kNextLine,
                              FakeKernel::Naming::kNone}) {
      Bench bench;
      bench.restart(abi::kCreatePredecessorServes);
      bench.kernel.naming = naming;
      std::vector<ServiceSpec> some = services(20);
      bench.kernel.refuse = {dispatch_to(some[7]), dispatch_to(some[12])};
      ok(bench, bench.full(some));
      CPPUNIT_ASSERT_EQUAL(std::size_t{2}, bench.host.not_programmed());
      bool served = false;
      for (const std::string& restore : bench.kernel.restores) {
        if (!has(restore, ":KUBE-SERVICES - [0:0]\n")) continue;
        served = has(restore, dispatch_to(some[0])) && has(restore, dispatch_to(some[19]));
        const bool made = !has(restore, "-A ") || &restore == &bench.kernel.restores.front();
        CPPUNIT_ASSERT_MESSAGE(restore, served || made);
      }
      CPPUNIT_ASSERT(served);
      bench.kernel.refuse.clear();
      some.erase(some.begin() + 12);
      some.erase(some.begin() + 7);
      Bench expected;
      ok(expected.full(some));
      for (const char* table : {"nat", "filter"}) {
        CPPUNIT_ASSERT_EQUAL(expected.kernel.tables[table].size(), bench.kernel.tables[table].size());
        for (const auto& [chain, rules] : expected.kernel.tables[table]) {
          const FakeKernel::Rules& there = bench.kernel.rules(table, chain);
          CPPUNIT_ASSERT_MESSAGE(chain, std::is_permutation(rules.begin(), rules.end(), there.begin(), there.end()));
        }
      }
      ok(bench.verify());
    }
  }

  void later_transactions_are_normal() {
    Bench bench;
    bench.restart(abi::kCreatePredecessorServes);
    std::vector<ServiceSpec> some = services(20);
    ok(bench, bench.full(some));
    ServiceSpec more = many_services(21, 2).back();
    ok(bench, bench.delta({more}));
    CPPUNIT_ASSERT(has(bench.kernel.restores.at(0), "-I KUBE-SERVICES "));
    some.push_back(more);
    some.push_back(many_services(22, 2).back());
    ok(bench, bench.full(some));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.kernel.restores.size());
    CPPUNIT_ASSERT(has(bench.kernel.restores.at(0), "-I KUBE-SERVICES "));
    ok(bench.verify());
  }

  void takeover_continues_after_a_failure() {
    Bench bench;
    bench.restart(abi::kCreatePredecessorServes);
    bench.kernel.fail_next = 4;
    CPPUNIT_ASSERT(bench.full(services()) == abi::Code::kRetry);
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT(!has(bench.kernel.restores.at(0), "PREROUTING"));
    CPPUNIT_ASSERT(!has(bench.kernel.restores.at(0), "-I KUBE-SERVICES"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IptablesTakeoverTest);

}  // namespace backend_takeover_test
}  // namespace sluice::test
