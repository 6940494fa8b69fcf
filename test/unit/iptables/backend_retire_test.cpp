// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Removal of the rules after a swap to another backend.
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/unit/iptables/bench.hpp"
#include "test/unit/iptables/ipvs_rules.hpp"

namespace sluice::test {
namespace backend_retire_test {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint32_t kDrain = 30;

std::vector<ServiceSpec> services() {
  std::vector<ServiceSpec> made = many_services(3, 2);
  made[0].node_port = 30001;
  made[1].vips = {"198.51.100.7"};
  made[1].source_ranges = {"203.0.113.0/25"};
  made[2].endpoints.clear();
  return made;
}

bool holds(const FakeKernel::Rules& rules, const std::string& part) {
  return std::any_of(rules.begin(), rules.end(), [&](const std::string& rule) { return rule.find(part) != rule.npos; });
}

class IptablesRetireTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(IptablesRetireTest);
  CPPUNIT_TEST(entry_jumps_are_removed_first);
  CPPUNIT_TEST(remaining_rules_are_removed_later);
  CPPUNIT_TEST(order_is_the_same_without_drain_time);
  CPPUNIT_TEST(leftovers_of_another_process_are_removed);
  CPPUNIT_TEST(empty_kernel_needs_no_waiting);
  CPPUNIT_TEST(fully_claimed_rules_are_not_listed);
  CPPUNIT_TEST(ipvs_mode_keeps_its_rules);
  CPPUNIT_TEST(ipvs_mode_gets_its_chains_back);
  CPPUNIT_TEST(many_rules_in_a_kept_chain_are_removed_by_one_rewrite);
  CPPUNIT_TEST(many_chains_are_removed_in_portions);
  CPPUNIT_TEST(retirement_continues_after_a_failure);
  CPPUNIT_TEST(held_lock_is_a_retry);
  CPPUNIT_TEST(apply_restarts_the_retirement);
  CPPUNIT_TEST(another_new_backend_keeps_its_rules);
  CPPUNIT_TEST(second_removal_of_entry_jumps_is_waited_for);
  CPPUNIT_TEST_SUITE_END();

  static void ok(abi::Code code) { CPPUNIT_ASSERT_EQUAL(std::int32_t{0}, static_cast<std::int32_t>(code)); }
  static void drains(abi::Code code) {
    CPPUNIT_ASSERT_EQUAL(static_cast<std::int32_t>(abi::Code::kRetry), static_cast<std::int32_t>(code));
  }
  static std::string nothing() {
    Bench clean;
    ok(clean.full({}));
    ok(clean.cleanup());
    return clean.kernel.text();
  }

 public:
  void entry_jumps_are_removed_first() {
    Bench bench;
    ok(bench.full(services()));
    const auto before = bench.kernel.tables;
    drains(bench.retire({}, kDrain));
    CPPUNIT_ASSERT(bench.kernel.rules("nat", "PREROUTING").empty());
    CPPUNIT_ASSERT(bench.kernel.rules("nat", "OUTPUT").empty());
    auto expected = before;
    expected["nat"]["PREROUTING"].clear();
    expected["nat"]["OUTPUT"].clear();
    CPPUNIT_ASSERT(expected == bench.kernel.tables);
  }

  void remaining_rules_are_removed_later() {
    Bench bench;
    ok(bench.full(services()));
    drains(bench.retire({}, kDrain));
    bench.host.clock += 150 * kMillisecond;
    drains(bench.retire({}, kDrain));
    CPPUNIT_ASSERT(bench.kernel.restores.empty());
    bench.host.clock += 100 * kMillisecond;
    const std::size_t saves = bench.kernel.saves;
    ok(bench.retire({}, kDrain - 1));
    CPPUNIT_ASSERT_EQUAL(nothing(), bench.kernel.text());
    CPPUNIT_ASSERT_EQUAL(saves, bench.kernel.saves);  // one listing is enough for both steps
  }

  void order_is_the_same_without_drain_time() {
    Bench bench;
    ok(bench.full(services()));
    ok(bench.retire({}, 0));
    CPPUNIT_ASSERT_EQUAL(std::string("*nat\n"
                                     "-D OUTPUT -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n"
                                     "-D PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n"
                                     "COMMIT\n"),
                         bench.kernel.restores.at(0));
    CPPUNIT_ASSERT_EQUAL(nothing(), bench.kernel.text());
    Bench hurried;  // without drain time there is no second step
    ok(hurried.full(services()));
    drains(hurried.retire({}, 1));
    ok(hurried.retire({}, 0));
    CPPUNIT_ASSERT_EQUAL(nothing(), hurried.kernel.text());
  }

  void leftovers_of_another_process_are_removed() {
    Bench bench;
    ok(bench.full(services()));
    bench.restart();
    drains(bench.retire({}, kDrain));
    bench.restart();  // the daemon restarts in between
    ok(bench.retire({}, kDrain));
    CPPUNIT_ASSERT_EQUAL(nothing(), bench.kernel.text());
  }

  void empty_kernel_needs_no_waiting() {
    Bench bench;
    ok(bench.retire({}, kDrain));
    CPPUNIT_ASSERT(bench.kernel.restores.empty());
  }

  void fully_claimed_rules_are_not_listed() {
    Bench bench;
    ok(bench.full(services()));
    const std::string before = bench.kernel.text();
    const std::size_t saves = bench.kernel.saves;
    ok(bench.retire(bench.claims(), kDrain));
    CPPUNIT_ASSERT_EQUAL(before, bench.kernel.text());
    CPPUNIT_ASSERT_EQUAL(saves, bench.kernel.saves);
  }

  void ipvs_mode_keeps_its_rules() {
    Bench bench;
    ok(bench.full(services()));
    bench.kernel.foreign(ipvs_rules(false));  // ipvs mode is active
    ok(bench.retire(ipvs_claims(), kDrain));  // no jump leads here any more
    FakeKernel alone;
    alone.foreign(ipvs_rules(true));
    alone.foreign("*filter\n:KUBE-FIREWALL - [0:0]\n-A INPUT -j KUBE-FIREWALL\n-A OUTPUT -j KUBE-FIREWALL\nCOMMIT\n");
    for (const auto& [table, chains] : alone.tables) {
      for (const auto& [chain, rules] : chains) {
        if (chain == "KUBE-FIREWALL") continue;
        const FakeKernel::Rules left = bench.kernel.tables[table][chain];
        CPPUNIT_ASSERT_MESSAGE(table + " " + chain, std::is_permutation(rules.begin(), rules.end(), left.begin(), left.end()));
      }
      CPPUNIT_ASSERT_EQUAL_MESSAGE(table, chains.size(), bench.kernel.tables[table].size());
    }
  }

  void ipvs_mode_gets_its_chains_back() {
    Bench bench;
    bench.kernel.foreign(ipvs_rules(true));
    bench.restart(abi::kCreatePredecessorServes);
    ok(bench.full(services()));
    ok(bench.retire(ipvs_claims(), 0));
    CPPUNIT_ASSERT(bench.kernel.rules("nat", "KUBE-SERVICES").empty());  // ipvs mode writes it again
    CPPUNIT_ASSERT(bench.kernel.rules("filter", "KUBE-PROXY-FIREWALL").empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.kernel.rules("nat", "PREROUTING").size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.kernel.rules("nat", "OUTPUT").size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.kernel.rules("nat", "POSTROUTING").size());
    CPPUNIT_ASSERT(!holds(bench.kernel.rules("filter", "INPUT"), "--ctstate NEW"));
    CPPUNIT_ASSERT(holds(bench.kernel.rules("filter", "INPUT"), "kube-proxy firewall rules"));
    CPPUNIT_ASSERT(bench.kernel.has("nat", "KUBE-LOAD-BALANCER"));
    for (const auto& [chain, rules] : bench.kernel.tables["nat"]) {
      CPPUNIT_ASSERT_MESSAGE(chain, !chain.starts_with("KUBE-SVC-") && !chain.starts_with("KUBE-SEP-"));
    }
  }

  void many_rules_in_a_kept_chain_are_removed_by_one_rewrite() {
    Bench bench;
    ok(bench.full(many_services(200, 1)));
    bench.kernel.foreign("*nat\n-A KUBE-SERVICES -d 192.0.2.1/32 -j RETURN\nCOMMIT\n");
    ok(bench.retire(ipvs_claims(), 0));
    CPPUNIT_ASSERT(FakeKernel::Rules{"-d 192.0.2.1/32 -j RETURN"} == bench.kernel.rules("nat", "KUBE-SERVICES"));
    CPPUNIT_ASSERT(bench.kernel.restores.at(0).find("-D KUBE-SERVICES") == std::string::npos);
  }

  void many_chains_are_removed_in_portions() {
    Bench bench;
    ok(bench.full(many_services(800, 2)));  // 2,400 chains
    drains(bench.retire({}, kDrain));
    bench.host.step = 1200 * kMillisecond;  // the duration of each call
    std::size_t left = bench.kernel.tables["nat"].size();
    int calls = 0;
    for (abi::Code code = abi::Code::kRetry; code == abi::Code::kRetry; ++calls) {
      code = bench.retire({}, kDrain);
      CPPUNIT_ASSERT(code == abi::Code::kOk || code == abi::Code::kRetry);
      CPPUNIT_ASSERT(bench.kernel.tables["nat"].size() < left);
      left = bench.kernel.tables["nat"].size();
    }
    CPPUNIT_ASSERT_EQUAL(2, calls);
    CPPUNIT_ASSERT_EQUAL(nothing(), bench.kernel.text());
    Bench at_once;
    ok(at_once.full(many_services(800, 2)));
    ok(at_once.retire({}, 0));
    CPPUNIT_ASSERT_EQUAL(nothing(), at_once.kernel.text());
  }

  void retirement_continues_after_a_failure() {
    Bench bench;
    ok(bench.full(services()));
    drains(bench.retire({}, kDrain));
    bench.host.clock += 250 * kMillisecond;
    bench.kernel.foreign("*nat\n-D POSTROUTING -m comment --comment \"kubernetes postrouting rules\" -j KUBE-POSTROUTING\n"
                         "COMMIT\n");
    CPPUNIT_ASSERT(bench.retire({}, kDrain) == abi::Code::kKernel);
    ok(bench.retire({}, kDrain));
    CPPUNIT_ASSERT_EQUAL(nothing(), bench.kernel.text());
  }

  void held_lock_is_a_retry() {
    Bench bench;
    bench.kernel.use_legacy();
    ok(bench.full(services()));
    bench.kernel.fail_next = 4;
    drains(bench.retire({}, kDrain));
    drains(bench.retire({}, kDrain));  // only this call removes the entry jumps
    CPPUNIT_ASSERT(bench.kernel.rules("nat", "PREROUTING").empty());
    CPPUNIT_ASSERT(!bench.kernel.rules("nat", "POSTROUTING").empty());
    bench.host.clock += 250 * kMillisecond;
    ok(bench.retire({}, kDrain));
    CPPUNIT_ASSERT_EQUAL(nothing(), bench.kernel.text());
  }

  void apply_restarts_the_retirement() {
    Bench bench;
    ok(bench.full(services()));
    const std::string before = bench.kernel.text();
    drains(bench.retire({}, kDrain));
    bench.host.clock += 250 * kMillisecond;
    ok(bench.full(services()));
    CPPUNIT_ASSERT_EQUAL(before, bench.kernel.text());
    drains(bench.retire({}, kDrain));
  }

  void another_new_backend_keeps_its_rules() {
    Bench bench;
    ok(bench.full(services()));
    drains(bench.retire({"nftables/ip/kube-proxy"}, kDrain));
    bench.kernel.foreign(ipvs_rules(true));  // meanwhile the new backend has written its rules
    const auto before = bench.kernel.tables;
    bench.host.clock += 250 * kMillisecond;
    ok(bench.retire(ipvs_claims(), kDrain));
    for (const char* chain : {"KUBE-SERVICES", "KUBE-POSTROUTING", "KUBE-MARK-MASQ", "POSTROUTING", "PREROUTING", "OUTPUT"}) {
      CPPUNIT_ASSERT_MESSAGE(chain, before.at("nat").at(chain) == bench.kernel.rules("nat", chain));
    }
    CPPUNIT_ASSERT(before.at("filter").at("KUBE-FORWARD") == bench.kernel.rules("filter", "KUBE-FORWARD"));
    CPPUNIT_ASSERT(bench.kernel.text().find("KUBE-SVC-") == std::string::npos);
    CPPUNIT_ASSERT(bench.kernel.text().find("KUBE-EXTERNAL-SERVICES") == std::string::npos);
  }

  void second_removal_of_entry_jumps_is_waited_for() {
    Bench bench;
    ok(bench.full(services()));
    drains(bench.retire({}, kDrain));
    bench.kernel.foreign("*nat\n-A PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\nCOMMIT\n");
    bench.host.clock += 250 * kMillisecond;
    drains(bench.retire({"nftables/ip/kube-proxy"}, kDrain));
    CPPUNIT_ASSERT(bench.kernel.rules("nat", "PREROUTING").empty());
    CPPUNIT_ASSERT(!bench.kernel.rules("nat", "POSTROUTING").empty());
    bench.host.clock += 250 * kMillisecond;
    ok(bench.retire({"nftables/ip/kube-proxy"}, kDrain));
    CPPUNIT_ASSERT_EQUAL(nothing(), bench.kernel.text());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IptablesRetireTest);

}  // namespace backend_retire_test
}  // namespace sluice::test
