// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Removal of the rules after a swap to another backend.
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/unit/iptables/backend_rig.hpp"
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

  static void drains(abi::Code code) {
    CPPUNIT_ASSERT_EQUAL(static_cast<std::int32_t>(abi::Code::kRetry), static_cast<std::int32_t>(code));
  }
  static std::string nothing() {
    IptablesRig clean;
    ok(clean.full({}));
    ok(clean.cleanup());
    return clean.kernel.text();
  }

 public:
  void entry_jumps_are_removed_first() {
    IptablesRig rig;
    ok(rig.full(services()));
    const auto before = rig.kernel.tables;
    drains(rig.retire({}, kDrain));
    CPPUNIT_ASSERT(rig.kernel.rules("nat", "PREROUTING").empty());
    CPPUNIT_ASSERT(rig.kernel.rules("nat", "OUTPUT").empty());
    auto expected = before;
    expected["nat"]["PREROUTING"].clear();
    expected["nat"]["OUTPUT"].clear();
    CPPUNIT_ASSERT(expected == rig.kernel.tables);
  }

  void remaining_rules_are_removed_later() {
    IptablesRig rig;
    ok(rig.full(services()));
    drains(rig.retire({}, kDrain));
    rig.host.clock += 150 * kMillisecond;
    drains(rig.retire({}, kDrain));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
    rig.host.clock += 100 * kMillisecond;
    const std::size_t saves = rig.kernel.saves;
    ok(rig.retire({}, kDrain - 1));
    CPPUNIT_ASSERT_EQUAL(nothing(), rig.kernel.text());
    CPPUNIT_ASSERT_EQUAL(saves, rig.kernel.saves);  // one listing is enough for both steps
  }

  void order_is_the_same_without_drain_time() {
    IptablesRig rig;
    ok(rig.full(services()));
    ok(rig.retire({}, 0));
    CPPUNIT_ASSERT_EQUAL(std::string("*nat\n"
                                     "-D OUTPUT -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n"
                                     "-D PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n"
                                     "COMMIT\n"),
                         rig.kernel.restores.at(0));
    CPPUNIT_ASSERT_EQUAL(nothing(), rig.kernel.text());
    IptablesRig hurried;  // without drain time there is no second step
    ok(hurried.full(services()));
    drains(hurried.retire({}, 1));
    ok(hurried.retire({}, 0));
    CPPUNIT_ASSERT_EQUAL(nothing(), hurried.kernel.text());
  }

  void leftovers_of_another_process_are_removed() {
    IptablesRig rig;
    ok(rig.full(services()));
    rig.restart();
    drains(rig.retire({}, kDrain));
    rig.restart();  // the daemon restarts in between
    ok(rig.retire({}, kDrain));
    CPPUNIT_ASSERT_EQUAL(nothing(), rig.kernel.text());
  }

  void empty_kernel_needs_no_waiting() {
    IptablesRig rig;
    ok(rig.retire({}, kDrain));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
  }

  void fully_claimed_rules_are_not_listed() {
    IptablesRig rig;
    ok(rig.full(services()));
    const std::string before = rig.kernel.text();
    const std::size_t saves = rig.kernel.saves;
    ok(rig.retire(rig.claims(), kDrain));
    CPPUNIT_ASSERT_EQUAL(before, rig.kernel.text());
    CPPUNIT_ASSERT_EQUAL(saves, rig.kernel.saves);
  }

  void ipvs_mode_keeps_its_rules() {
    IptablesRig rig;
    ok(rig.full(services()));
    rig.kernel.foreign(ipvs_rules(false));  // ipvs mode is active
    ok(rig.retire(ipvs_claims(), kDrain));  // no jump leads here any more
    FakeKernel alone;
    alone.foreign(ipvs_rules(true));
    alone.foreign("*filter\n:KUBE-FIREWALL - [0:0]\n-A INPUT -j KUBE-FIREWALL\n-A OUTPUT -j KUBE-FIREWALL\nCOMMIT\n");
    for (const auto& [table, chains] : alone.tables) {
      for (const auto& [chain, rules] : chains) {
        if (chain == "KUBE-FIREWALL") continue;
        const FakeKernel::Rules left = rig.kernel.tables[table][chain];
        CPPUNIT_ASSERT_MESSAGE(table + " " + chain, std::is_permutation(rules.begin(), rules.end(), left.begin(), left.end()));
      }
      CPPUNIT_ASSERT_EQUAL_MESSAGE(table, chains.size(), rig.kernel.tables[table].size());
    }
  }

  void ipvs_mode_gets_its_chains_back() {
    IptablesRig rig;
    rig.kernel.foreign(ipvs_rules(true));
    rig.restart(abi::kCreatePredecessorServes);
    ok(rig.full(services()));
    ok(rig.retire(ipvs_claims(), 0));
    CPPUNIT_ASSERT(rig.kernel.rules("nat", "KUBE-SERVICES").empty());  // ipvs mode writes it again
    CPPUNIT_ASSERT(rig.kernel.rules("filter", "KUBE-PROXY-FIREWALL").empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.rules("nat", "PREROUTING").size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.rules("nat", "OUTPUT").size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.rules("nat", "POSTROUTING").size());
    CPPUNIT_ASSERT(!holds(rig.kernel.rules("filter", "INPUT"), "--ctstate NEW"));
    CPPUNIT_ASSERT(holds(rig.kernel.rules("filter", "INPUT"), "kube-proxy firewall rules"));
    CPPUNIT_ASSERT(rig.kernel.has("nat", "KUBE-LOAD-BALANCER"));
    for (const auto& [chain, rules] : rig.kernel.tables["nat"]) {
      CPPUNIT_ASSERT_MESSAGE(chain, !chain.starts_with("KUBE-SVC-") && !chain.starts_with("KUBE-SEP-"));
    }
  }

  void many_rules_in_a_kept_chain_are_removed_by_one_rewrite() {
    IptablesRig rig;
    ok(rig.full(many_services(200, 1)));
    rig.kernel.foreign("*nat\n-A KUBE-SERVICES -d 192.0.2.1/32 -j RETURN\nCOMMIT\n");
    ok(rig.retire(ipvs_claims(), 0));
    CPPUNIT_ASSERT(FakeKernel::Rules{"-d 192.0.2.1/32 -j RETURN"} == rig.kernel.rules("nat", "KUBE-SERVICES"));
    CPPUNIT_ASSERT(rig.kernel.restores.at(0).find("-D KUBE-SERVICES") == std::string::npos);
  }

  void many_chains_are_removed_in_portions() {
    IptablesRig rig;
    ok(rig.full(many_services(800, 2)));  // 2,400 chains
    drains(rig.retire({}, kDrain));
    rig.host.step = 1200 * kMillisecond;  // the duration of each call
    std::size_t left = rig.kernel.tables["nat"].size();
    int calls = 0;
    for (abi::Code code = abi::Code::kRetry; code == abi::Code::kRetry; ++calls) {
      code = rig.retire({}, kDrain);
      CPPUNIT_ASSERT(code == abi::Code::kOk || code == abi::Code::kRetry);
      CPPUNIT_ASSERT(rig.kernel.tables["nat"].size() < left);
      left = rig.kernel.tables["nat"].size();
    }
    CPPUNIT_ASSERT_EQUAL(2, calls);
    CPPUNIT_ASSERT_EQUAL(nothing(), rig.kernel.text());
    IptablesRig at_once;
    ok(at_once.full(many_services(800, 2)));
    ok(at_once.retire({}, 0));
    CPPUNIT_ASSERT_EQUAL(nothing(), at_once.kernel.text());
  }

  void retirement_continues_after_a_failure() {
    IptablesRig rig;
    ok(rig.full(services()));
    drains(rig.retire({}, kDrain));
    rig.host.clock += 250 * kMillisecond;
    rig.kernel.foreign("*nat\n-D POSTROUTING -m comment --comment \"kubernetes postrouting rules\" -j KUBE-POSTROUTING\n"
                         "COMMIT\n");
    CPPUNIT_ASSERT(rig.retire({}, kDrain) == abi::Code::kKernel);
    ok(rig.retire({}, kDrain));
    CPPUNIT_ASSERT_EQUAL(nothing(), rig.kernel.text());
  }

  void held_lock_is_a_retry() {
    IptablesRig rig;
    rig.kernel.use_legacy();
    ok(rig.full(services()));
    rig.kernel.fail_next = 4;
    drains(rig.retire({}, kDrain));
    drains(rig.retire({}, kDrain));  // only this call removes the entry jumps
    CPPUNIT_ASSERT(rig.kernel.rules("nat", "PREROUTING").empty());
    CPPUNIT_ASSERT(!rig.kernel.rules("nat", "POSTROUTING").empty());
    rig.host.clock += 250 * kMillisecond;
    ok(rig.retire({}, kDrain));
    CPPUNIT_ASSERT_EQUAL(nothing(), rig.kernel.text());
  }

  void apply_restarts_the_retirement() {
    IptablesRig rig;
    ok(rig.full(services()));
    const std::string before = rig.kernel.text();
    drains(rig.retire({}, kDrain));
    rig.host.clock += 250 * kMillisecond;
    ok(rig.full(services()));
    CPPUNIT_ASSERT_EQUAL(before, rig.kernel.text());
    drains(rig.retire({}, kDrain));
  }

  void another_new_backend_keeps_its_rules() {
    IptablesRig rig;
    ok(rig.full(services()));
    drains(rig.retire({"nftables/ip/kube-proxy"}, kDrain));
    rig.kernel.foreign(ipvs_rules(true));  // meanwhile the new backend has written its rules
    const auto before = rig.kernel.tables;
    rig.host.clock += 250 * kMillisecond;
    ok(rig.retire(ipvs_claims(), kDrain));
    for (const char* chain : {"KUBE-SERVICES", "KUBE-POSTROUTING", "KUBE-MARK-MASQ", "POSTROUTING", "PREROUTING", "OUTPUT"}) {
      CPPUNIT_ASSERT_MESSAGE(chain, before.at("nat").at(chain) == rig.kernel.rules("nat", chain));
    }
    CPPUNIT_ASSERT(before.at("filter").at("KUBE-FORWARD") == rig.kernel.rules("filter", "KUBE-FORWARD"));
    CPPUNIT_ASSERT(rig.kernel.text().find("KUBE-SVC-") == std::string::npos);
    CPPUNIT_ASSERT(rig.kernel.text().find("KUBE-EXTERNAL-SERVICES") == std::string::npos);
  }

  void second_removal_of_entry_jumps_is_waited_for() {
    IptablesRig rig;
    ok(rig.full(services()));
    drains(rig.retire({}, kDrain));
    rig.kernel.foreign("*nat\n-A PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\nCOMMIT\n");
    rig.host.clock += 250 * kMillisecond;
    drains(rig.retire({"nftables/ip/kube-proxy"}, kDrain));
    CPPUNIT_ASSERT(rig.kernel.rules("nat", "PREROUTING").empty());
    CPPUNIT_ASSERT(!rig.kernel.rules("nat", "POSTROUTING").empty());
    rig.host.clock += 250 * kMillisecond;
    ok(rig.retire({"nftables/ip/kube-proxy"}, kDrain));
    CPPUNIT_ASSERT_EQUAL(nothing(), rig.kernel.text());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IptablesRetireTest);

}  // namespace backend_retire_test
}  // namespace sluice::test
