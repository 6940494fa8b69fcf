// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Verification of the written rules, and cleanup.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>

#include "test/unit/iptables/backend_rig.hpp"
#include "test/unit/iptables/plan_text.hpp"

namespace sluice::test {
namespace backend_verify_test {

class VerifyTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(VerifyTest);
  CPPUNIT_TEST(nothing_is_listed_without_a_change);
  CPPUNIT_TEST(own_writes_are_not_foreign_changes);
  CPPUNIT_TEST(foreign_changes_are_listed_once);
  CPPUNIT_TEST(writes_of_the_other_family_are_not_foreign_changes);
  CPPUNIT_TEST(each_kind_of_drift_is_named);
  CPPUNIT_TEST(flush_is_described_briefly);
  CPPUNIT_TEST(listings_are_rate_limited);
  CPPUNIT_TEST(legacy_checks_the_canary);
  CPPUNIT_TEST(legacy_detects_a_single_rule_at_the_next_listing);
  CPPUNIT_TEST(change_during_a_write_is_detected);
  CPPUNIT_TEST(cleanup_leaves_foreign_rules);
  CPPUNIT_TEST(cleanup_of_nothing_writes_nothing);
  CPPUNIT_TEST(cleanup_removes_chains_of_an_earlier_process);
  CPPUNIT_TEST(cleanup_only_empties_a_chain_with_a_foreign_reference);
  CPPUNIT_TEST(retire_keeps_claimed_chains);
  CPPUNIT_TEST(retire_without_claims_removes_everything);
  CPPUNIT_TEST(claims_cover_every_chain);
  CPPUNIT_TEST_SUITE_END();

  static std::vector<ServiceSpec> services() {
    std::vector<ServiceSpec> made = many_services(3, 2);
    made[1].node_port = 30001;
    return made;
  }

  void nothing_is_listed_without_a_change() {
    IptablesRig rig;
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    ok(rig.full(services()));
    const std::size_t saves = rig.kernel.saves;
    for (int i = 0; i < 10; ++i) ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(saves, rig.kernel.saves);
  }

  void own_writes_are_not_foreign_changes() {
    IptablesRig rig;
    ok(rig.full(services()));
    ServiceSpec changed = services()[0];
    changed.endpoints.pop_back();
    ok(rig.delta({changed}));
    ok(rig.delta({}, {changed}));
    const std::size_t saves = rig.kernel.saves;
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(saves, rig.kernel.saves);
  }

  void foreign_changes_are_listed_once() {
    IptablesRig rig;
    ok(rig.full(services()));
    rig.kernel.foreign("*filter\n:FOREIGN - [0:0]\nCOMMIT\n");
    const std::size_t saves = rig.kernel.saves;
    ok(rig.verify());
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(saves + 1, rig.kernel.saves);
  }

  void writes_of_the_other_family_are_not_foreign_changes() {
    IptablesRig ipv4;
    IptablesRig ipv6(abi::Family::kIpv6);
    ipv6.kernel.join(ipv4.kernel);
    NodeSpec node;
    node.ip = "fd00::2";
    node.detector_cidr = "fd00:10::/64";
    ok(ipv4.full(services()));
    ok(ipv6.full({}, node));
    ok(ipv4.delta({}, {services()[0]}));
    const std::size_t saves = ipv4.kernel.saves + ipv6.kernel.saves;
    ok(ipv4.verify());
    ok(ipv6.verify());
    CPPUNIT_ASSERT_EQUAL(saves, ipv4.kernel.saves + ipv6.kernel.saves);
    ipv6.kernel.foreign("*filter\n:FOREIGN - [0:0]\nCOMMIT\n");
    ok(ipv4.verify());
    CPPUNIT_ASSERT_EQUAL(saves + 1, ipv4.kernel.saves + ipv6.kernel.saves);
  }

  void each_kind_of_drift_is_named() {
    const std::string chain = iptables::name(plan(services()[0]).chains[0]);
    const auto expect = [](const std::string& phrase, const std::function<void(FakeKernel&)>& cause_drift) {
      IptablesRig rig;
      ok(rig.full(services()));
      rig.kernel.foreign("*filter\n:FOREIGN - [0:0]\nCOMMIT\n");  // changes the generation
      cause_drift(rig.kernel);
      CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
      CPPUNIT_ASSERT_EQUAL(phrase, std::string(rig.error.message));
      CPPUNIT_ASSERT(rig.delta({}) == abi::Code::kNeedFull);
      ok(rig.full(services()));
      ok(rig.verify());
    };
    expect("the rule \"-j KUBE-FIREWALL\" in filter INPUT is gone",
           [](FakeKernel& kernel) {
             FakeKernel::Rules& rules = kernel.tables["filter"]["INPUT"];
             rules.erase(rules.begin());
           });
    expect("filter KUBE-FORWARD was changed",
           [](FakeKernel& kernel) { kernel.tables["filter"]["KUBE-FORWARD"].clear(); });
    expect("nat " + chain + " was changed", [&](FakeKernel& kernel) { kernel.tables["nat"][chain].pop_back(); });
    expect("the rule in filter KUBE-FIREWALL is gone",
           [](FakeKernel& kernel) { kernel.tables["filter"]["KUBE-FIREWALL"].clear(); });
    expect("the node port rule at the end of nat KUBE-SERVICES is gone",
           [](FakeKernel& kernel) { kernel.tables["nat"]["KUBE-SERVICES"].pop_back(); });
    expect("the rule \"-m comment --comment bench/svc-1:p80 -m tcp -p tcp --dport 30001 -j " +
               iptables::name(plan(services()[1]).chains[0]) + "\" in nat KUBE-NODEPORTS is gone",
           [](FakeKernel& kernel) { kernel.tables["nat"]["KUBE-NODEPORTS"].clear(); });
    expect("filter KUBE-PROXY-FIREWALL is gone",
           [](FakeKernel& kernel) { kernel.tables["filter"].erase("KUBE-PROXY-FIREWALL"); });
    expect("nat " + chain + " was changed", [&](FakeKernel& kernel) {
      kernel.tables["nat"][chain].insert(kernel.tables["nat"][chain].begin(), "-j ACCEPT");
    });
  }

  void flush_is_described_briefly() {
    IptablesRig rig;
    ok(rig.full(services()));
    rig.kernel.foreign("*filter\n:FOREIGN - [0:0]\nCOMMIT\n");
    rig.kernel.tables = FakeKernel().tables;
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    CPPUNIT_ASSERT(std::string(rig.error.message).ends_with(" more"));
  }

  void listings_are_rate_limited() {
    IptablesRig rig;
    ok(rig.full(services()));
    rig.host.step = 1000;  // the duration of each listing
    const auto foreign = [&] { rig.kernel.foreign("*filter\n:FOREIGN - [0:0]\nCOMMIT\n"); };
    foreign();
    const std::size_t saves = rig.kernel.saves;
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(saves + 1, rig.kernel.saves);
    for (int i = 0; i < 15; ++i) {
      foreign();
      ok(rig.verify());
    }
    CPPUNIT_ASSERT_EQUAL(saves + 1, rig.kernel.saves);
    rig.host.clock += 20 * 1000;
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(saves + 2, rig.kernel.saves);
  }

  void legacy_checks_the_canary() {
    IptablesRig rig;
    rig.kernel.use_legacy();
    ok(rig.full(services()));
    ok(rig.verify());
    rig.kernel.tables = FakeKernel().tables;
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    ok(rig.full(services()));
    ok(rig.verify());
  }

  void legacy_detects_a_single_rule_at_the_next_listing() {
    IptablesRig rig;
    rig.kernel.use_legacy();
    ok(rig.full(services()));
    rig.host.step = 1000;  // the duration of each listing
    ok(rig.verify());
    rig.kernel.tables["nat"]["KUBE-NODEPORTS"].clear();
    const std::size_t listings = rig.kernel.saves;
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(listings + 1, rig.kernel.saves);  // of the canary
    rig.host.clock += 20 * 1000;
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    CPPUNIT_ASSERT(std::string(rig.error.message).ends_with("in nat KUBE-NODEPORTS is gone"));
    ok(rig.full(services()));
    // A flush is detected before the next listing is due.
    ok(rig.verify());
    rig.kernel.tables = FakeKernel().tables;
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
  }

  void change_during_a_write_is_detected() {
    IptablesRig rig;
    ok(rig.full(services()));
    rig.kernel.foreign("*nat\n:KUBE-NODEPORTS - [0:0]\nCOMMIT\n");  // just before the write
    ServiceSpec changed = services()[0];
    changed.endpoints.pop_back();
    ok(rig.delta({changed}));
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
  }

  void cleanup_leaves_foreign_rules() {
    IptablesRig rig;
    const std::string foreign =
        "*nat\n:FOREIGN - [0:0]\n-A PREROUTING -j FOREIGN\n-A POSTROUTING -s 10.0.0.0/8 -j MASQUERADE\nCOMMIT\n";
    rig.kernel.foreign(foreign);
    ok(rig.full(services()));
    ok(rig.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.restores.size());
    FakeKernel expected;
    expected.foreign(foreign +
                     "*filter\n:KUBE-FIREWALL - [0:0]\n-A INPUT -j KUBE-FIREWALL\n-A OUTPUT -j KUBE-FIREWALL\n"
                     "-A KUBE-FIREWALL -m comment --comment \"block incoming localnet connections\" -d 127.0.0.0/8 ! "
                     "-s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP\nCOMMIT\n");
    CPPUNIT_ASSERT_EQUAL(expected.text(), rig.kernel.text());
    CPPUNIT_ASSERT(rig.delta({}) == abi::Code::kNeedFull);
  }

  void cleanup_of_nothing_writes_nothing() {
    IptablesRig rig;
    ok(rig.cleanup());
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
  }

  void cleanup_removes_chains_of_an_earlier_process() {
    IptablesRig rig;
    ok(rig.full(many_services(200, 6)));
    rig.restart();
    ok(rig.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::size_t{4 + 0}, rig.kernel.tables["nat"].size());
    CPPUNIT_ASSERT(rig.kernel.restores.size() > 1);  // in batches
  }

  void cleanup_only_empties_a_chain_with_a_foreign_reference() {
    IptablesRig rig;
    ok(rig.full(services()));
    rig.kernel.foreign("*nat\n:FOREIGN - [0:0]\n-A FOREIGN -j KUBE-MARK-MASQ\nCOMMIT\n");
    ok(rig.cleanup());
    CPPUNIT_ASSERT(rig.kernel.rules("nat", "KUBE-MARK-MASQ").empty());
    CPPUNIT_ASSERT(!rig.kernel.has("nat", "KUBE-SERVICES"));
  }

  void retire_keeps_claimed_chains() {
    IptablesRig rig;
    ok(rig.full(services()));
    ok(rig.retire({"iptables/nat/KUBE-SERVICES", "iptables/nat/KUBE-POSTROUTING", "iptables/nat/KUBE-MARK-MASQ",
                     "iptables/filter/KUBE-FORWARD", "ip6tables/nat/KUBE-NODEPORTS"}));
    CPPUNIT_ASSERT(rig.kernel.has("nat", "KUBE-SERVICES"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.kernel.rules("nat", "KUBE-SERVICES").size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig.kernel.rules("nat", "KUBE-POSTROUTING").size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.rules("nat", "POSTROUTING").size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.rules("nat", "PREROUTING").size());
    CPPUNIT_ASSERT(!rig.kernel.has("nat", "KUBE-NODEPORTS"));
    CPPUNIT_ASSERT(rig.kernel.has("filter", "KUBE-FORWARD"));
    CPPUNIT_ASSERT(!rig.kernel.has("filter", "KUBE-SERVICES"));
  }

  void retire_without_claims_removes_everything() {
    IptablesRig rig;
    ok(rig.full(services()));
    IptablesRig clean;
    ok(clean.full({}));
    ok(rig.retire({}));
    ok(clean.cleanup());
    CPPUNIT_ASSERT_EQUAL(clean.kernel.text(), rig.kernel.text());
    IptablesRig claimed;
    ok(claimed.full(services()));
    const std::string before = claimed.kernel.text();
    ok(claimed.retire(claimed.claims()));
    CPPUNIT_ASSERT_EQUAL(before, claimed.kernel.text());
  }

  void claims_cover_every_chain() {
    IptablesRig rig;
    std::vector<ServiceSpec> some = services();
    some[1].external_local = true;
    some[1].vips = {"1.2.3.4"};
    some[1].source_ranges = {"203.0.113.0/25"};
    ok(rig.full(some));
    const std::vector<std::string> claims = rig.claims();
    for (const auto& [table, chains] : rig.kernel.tables) {
      for (const auto& [chain, rules] : chains) {
        if (!chain.starts_with("KUBE-") || chain == "KUBE-FIREWALL") continue;
        const std::string artifact = "iptables/" + table + "/" + chain;
        CPPUNIT_ASSERT_MESSAGE(artifact, std::any_of(claims.begin(), claims.end(), [&](const std::string& claim) {
                                 return claim == artifact || (claim.ends_with('*') &&
                                                              artifact.starts_with(claim.substr(0, claim.size() - 1)));
                               }));
      }
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(VerifyTest);

}  // namespace backend_verify_test
}  // namespace sluice::test
