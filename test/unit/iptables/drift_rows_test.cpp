// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Rows of `sluicectl diff` from the rules of the kernel.
#include "plugins/iptables/drift_rows.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <functional>
#include <string>
#include <vector>

#include "plugins/iptables/names.hpp"
#include "sluice/sdk/service.hpp"
#include "test/unit/iptables/inspection_rig.hpp"
#include "test/unit/iptables/plan_text.hpp"

namespace sluice::test {
namespace drift_rows_test {

using Change = std::function<void(IptablesRig&)>;

class DriftRowsTest : public CppUnit::TestFixture, private EveryKindOfRule {
  CPPUNIT_TEST_SUITE(DriftRowsTest);
  CPPUNIT_TEST(a_healthy_node_has_no_drift);
  CPPUNIT_TEST(deltas_and_refusals_are_no_drift);
  CPPUNIT_TEST(all_that_verify_repairs_has_a_row);
  CPPUNIT_TEST(missing_rules_are_shown_with_their_service_port);
  CPPUNIT_TEST(changed_chains_are_shown_with_their_rules);
  CPPUNIT_TEST(fixed_chains_and_canaries_are_compared);
  CPPUNIT_TEST(comments_of_endpoints_are_no_drift);
  CPPUNIT_TEST(extra_objects_are_shown);
  CPPUNIT_TEST(rules_above_the_jumps_are_foreign);
  CPPUNIT_TEST(other_software_is_no_drift);
  CPPUNIT_TEST(one_service_is_selected);
  CPPUNIT_TEST(ipv6_is_compared);
  CPPUNIT_TEST(comparison_neither_writes_nor_affects_verify);
  CPPUNIT_TEST(there_must_be_a_written_state);
  CPPUNIT_TEST(a_truncated_listing_is_an_error);
  CPPUNIT_TEST_SUITE_END();

  static Lines drift(IptablesRig& rig, const std::string& name = {}) {
    static constexpr const char* kKinds[] = {"", "missing", "changed", "extra", "foreign"};
    return inspect_rows<abi::InspectedDrift>(
        rig, abi::InspectionKind::kInspectDrift,
        [](const abi::InspectedDrift& row) {
          std::string line = kKinds[static_cast<std::size_t>(row.kind)];
          if (row.key.service_name.size != 0) line += " " + sdk::service_port_id(row.key);
          line.append(" ").append(sdk::text(row.object));
          if (row.wanted.size != 0) line.append(" wanted ").append(sdk::text(row.wanted));
          if (row.found.size != 0) line.append(" found ").append(sdk::text(row.found));
          return line;
        },
        name);
  }
  static void expect(IptablesRig& rig, const Lines& lines) { CPPUNIT_ASSERT_EQUAL(text(lines), text(drift(rig))); }
  static void synced(IptablesRig& rig) { ok(rig, rig.full(all_kinds())); }

  void a_healthy_node_has_no_drift() {
    for (const bool legacy : {false, true}) {
      IptablesRig rig;
      if (legacy) rig.kernel.use_legacy();
      rig.kernel.counter_error = 0;
      synced(rig);
      expect(rig, {});
      ok(rig, rig.inspected);
      rig.restart();
      synced(rig);
      expect(rig, {});
    }
  }

  void deltas_and_refusals_are_no_drift() {
    IptablesRig rig;
    synced(rig);
    ServiceSpec changed = all_kinds()[0];
    changed.endpoints.pop_back();
    changed.vips.clear();
    ok(rig, rig.delta({changed}, {all_kinds()[1]}));
    expect(rig, {});
    rig.kernel.refuse = {"ns1/svc3"};
    changed = all_kinds()[2];
    changed.endpoints.pop_back();
    ok(rig, rig.delta({changed}));
    CPPUNIT_ASSERT(!rig.host.failed.empty());
    expect(rig, {});
    ok(rig, rig.full(all_kinds()));
    expect(rig, {});
  }

  // Removes each rule and each chain that the backend wrote, one at a time.
  void all_that_verify_repairs_has_a_row() {
    IptablesRig rig;
    synced(rig);
    const auto before = rig.kernel.tables;
    std::size_t repaired = 0;
    for (const auto& [table, chains] : before) {
      for (const auto& [chain, rules] : chains) {
        for (std::size_t i = 0; i <= rules.size(); ++i) {
          rig.kernel.tables = before;
          if (i < rules.size()) {
            auto& there = rig.kernel.tables[table][chain];
            there.erase(there.begin() + static_cast<std::ptrdiff_t>(i));
          } else {
            rig.kernel.tables[table].erase(chain);
          }
          rig.kernel.foreign("*filter\nCOMMIT\n");  // changes the generation
          rig.host.clock += 3'600'000'000'000;
          const bool repairs = rig.verify() == abi::Code::kNeedFull;
          const std::string what = table + " " + chain + " " + std::to_string(i);
          CPPUNIT_ASSERT_MESSAGE(what, !repairs || !drift(rig).empty());
          repaired += repairs;
          rig.kernel.tables = before;
          ok(rig, rig.full(all_kinds()));
        }
      }
    }
    CPPUNIT_ASSERT(repaired > 100);
  }

  void missing_rules_are_shown_with_their_service_port() {
    IptablesRig rig;
    synced(rig);
    erase_rules(rig.kernel, "nat", "KUBE-SERVICES", "172.30.0.43");
    erase_rules(rig.kernel, "filter", "KUBE-EXTERNAL-SERVICES", "192.0.2.14");
    erase_rules(rig.kernel, "nat", "PREROUTING", "KUBE-SERVICES");
    erase_rules(rig.kernel, "nat", "KUBE-SERVICES", "KUBE-NODEPORTS");
    erase_rules(rig.kernel, "filter", "KUBE-FIREWALL", "block");
    const std::string chain = iptables::name(plan(all_kinds()[2]).chains[0]);
    expect(rig,
           {"missing ns1/svc3:p80/udp rule in nat KUBE-SERVICES wanted -m comment --comment \"ns1/svc3:p80 cluster "
            "IP\" -m udp -p udp -d 172.30.0.43 --dport 80 -j " + chain,
            "missing ns1/svc4:p80/tcp rule in filter KUBE-EXTERNAL-SERVICES wanted -m comment --comment "
            "\"ns1/svc4:p80 has no endpoints\" -m tcp -p tcp -d 192.0.2.14 --dport 80 -j REJECT",
            "missing rule in nat PREROUTING wanted -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES",
            "missing rule in filter KUBE-FIREWALL wanted -m comment --comment \"block incoming localnet connections\" "
            "-d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
            "missing rule in nat KUBE-SERVICES wanted -m comment --comment \"kubernetes service nodeports; NOTE: this "
            "must be the last rule in this chain\" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS"});
  }

  void changed_chains_are_shown_with_their_rules() {
    IptablesRig rig;
    synced(rig);
    const std::string internal = iptables::name(plan(all_kinds()[2]).chains[0]);
    const std::string endpoint = iptables::name(plan(all_kinds()[2]).chains[1]);
    auto& nat = rig.kernel.tables.at("nat");
    nat[internal] = {"-j RETURN", "-j " + endpoint};
    nat.erase(endpoint);
    expect(rig, {"changed ns1/svc3:p80/udp chain nat " + internal + " wanted 2 rules found 2 rules: -j RETURN; -j " +
                     endpoint,
                 "missing ns1/svc3:p80/udp chain nat " + endpoint + " wanted 2 rules"});
    nat[endpoint].clear();
    CPPUNIT_ASSERT_EQUAL("changed ns1/svc3:p80/udp chain nat " + endpoint + " wanted 2 rules found 0 rules",
                         drift(rig).back());
    for (int i = 0; i < 30; ++i) nat[endpoint].emplace_back("-j LOG");
    const std::string last = drift(rig).back();
    CPPUNIT_ASSERT_MESSAGE(last, last.size() < 500 && last.ends_with("-j LOG; …"));
  }

  void fixed_chains_and_canaries_are_compared() {
    IptablesRig rig;
    synced(rig);
    rig.kernel.tables["nat"]["KUBE-MARK-MASQ"] = {"-j RETURN"};
    for (const std::string table : {"nat", "filter", "mangle"}) rig.kernel.tables[table].erase("KUBE-PROXY-CANARY");
    rig.kernel.tables["filter"].erase("KUBE-FORWARD");
    auto& services = rig.kernel.tables["nat"]["KUBE-SERVICES"];
    std::swap(services[services.size() - 1], services[services.size() - 2]);
    expect(rig, {"missing chain filter KUBE-FORWARD wanted 3 rules: -m conntrack --ctstate INVALID -j DROP; -m comment "
                 "--comment \"kubernetes forwarding rules\" -m mark --mark 0x00004000/0x00004000 -j ACCEPT; -m comment "
                 "--comment \"kubernetes forwarding conntrack rule\" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
                 "changed chain nat KUBE-MARK-MASQ wanted 1 rule: -j MARK --or-mark 0x00004000 found 1 rule: -j RETURN",
                 "missing chain nat KUBE-PROXY-CANARY", "missing chain filter KUBE-PROXY-CANARY",
                 "missing chain mangle KUBE-PROXY-CANARY",
                 "changed order of nat KUBE-SERVICES wanted the jump to KUBE-NODEPORTS is last found other rules follow "
                 "it"});
  }

  void comments_of_endpoints_are_no_drift() {
    IptablesRig rig;
    synced(rig);
    for (auto& [chain, rules] : rig.kernel.tables["nat"]) {
      const auto id = iptables::parse_chain(chain);
      if (!id || !iptables::comments_are_optional(id->kind)) continue;
      for (std::string& rule : rules) rule += " -m comment --comment other";
    }
    expect(rig, {});
  }

  void extra_objects_are_shown() {
    IptablesRig rig;
    synced(rig);
    rig.kernel.foreign(
        "*nat\n:KUBE-SVC-AAAAAAAAAAAAAAAA - [0:0]\n:KUBE-SEP-BBBBBBBBBBBBBBBB - [0:0]\n:FOREIGN - [0:0]\n"
        "-A FOREIGN -j KUBE-SEP-BBBBBBBBBBBBBBBB\n"
        "-A KUBE-SVC-AAAAAAAAAAAAAAAA -j RETURN\n"
        "-I KUBE-SERVICES -s 10.0.0.9 -j RETURN\n"
        "-A KUBE-NODEPORTS -p tcp -m tcp --dport 9 -j KUBE-SVC-AAAAAAAAAAAAAAAA\nCOMMIT\n"
        "*filter\n-A KUBE-SERVICES -m comment --comment \"ns1/svc1:p80 has no endpoints\" -d 172.30.0.41 -p tcp -m tcp "
        "--dport 80 -j REJECT\nCOMMIT\n");
    expect(rig,
           {"extra ns1/svc1:p80/tcp rule in filter KUBE-SERVICES found -m comment --comment \"ns1/svc1:p80 has no "
            "endpoints\" -d 172.30.0.41 -p tcp -m tcp --dport 80 -j REJECT",
            "extra rule in nat KUBE-SERVICES found -s 10.0.0.9 -j RETURN",
            "extra rule in nat KUBE-NODEPORTS found -p tcp -m tcp --dport 9 -j KUBE-SVC-AAAAAAAAAAAAAAAA",
            "extra chain nat KUBE-SVC-AAAAAAAAAAAAAAAA found 1 rule: -j RETURN"});
    ok(rig, rig.full(all_kinds()));
    expect(rig, {});
  }

  void rules_above_the_jumps_are_foreign() {
    IptablesRig rig;
    synced(rig);
    rig.kernel.foreign(
        "*nat\n:FOREIGN-HOSTPORTS - [0:0]\n-I PREROUTING -j FOREIGN-HOSTPORTS\n-I PREROUTING -j LOG\n"
        "-A PREROUTING -p udp -j ACCEPT\nCOMMIT\n"
        "*filter\n-I FORWARD -s 192.0.2.0/24 -j DROP\nCOMMIT\n");
    expect(rig, {"foreign rule in filter FORWARD above a jump of this backend found -s 192.0.2.0/24 -j DROP",
                 "foreign rule in nat PREROUTING above a jump of this backend found -j FOREIGN-HOSTPORTS"});
  }

  void other_software_is_no_drift() {
    IptablesRig rig;
    synced(rig);
    rig.kernel.foreign(
        "*nat\n:FOREIGN - [0:0]\n:KUBE-PORTALS-CONTAINER - [0:0]\n:KUBE-NODE-PORT - [0:0]\n"
        "-A FOREIGN -j KUBE-MARK-MASQ\n-A PREROUTING -j FOREIGN\n"
        "-A POSTROUTING -s 10.0.0.0/8 -j MASQUERADE\n"
        "-I PREROUTING -m comment --comment \"handle ClusterIPs\" -j KUBE-PORTALS-CONTAINER\nCOMMIT\n"
        "*filter\n-A KUBE-FIREWALL -m mark --mark 0x8000/0x8000 -j DROP\n-A FORWARD -j DROP\nCOMMIT\n"
        "*mangle\n-I PREROUTING -j ACCEPT\nCOMMIT\n");
    expect(rig, {});
  }

  void one_service_is_selected() {
    IptablesRig rig;
    synced(rig);
    rig.kernel.foreign("*nat\n-F KUBE-SERVICES\nCOMMIT\n");
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, drift(rig, "ns1/svc2").size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, drift(rig, "ns1/svc2:p80").size());
    CPPUNIT_ASSERT(drift(rig, "ns1/svc").empty());
    ok(rig, rig.inspected);
  }

  void ipv6_is_compared() {
    IptablesRig rig(abi::Family::kIpv6);
    NodeSpec node;
    node.ip = "fd00::2";
    node.detector_cidr = "fd00:10::/64";
    ok(rig, rig.full(many_services(2, 2, abi::Family::kIpv6), node));
    expect(rig, {});
    rig.kernel.foreign("*nat\n-F KUBE-SERVICES\nCOMMIT\n");
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, drift(rig).size());
  }

  void comparison_neither_writes_nor_affects_verify() {
    IptablesRig rig;
    synced(rig);
    ok(rig, rig.verify());
    const std::size_t saves = rig.kernel.saves;
    const std::size_t restores = rig.kernel.restores.size();
    drift(rig);
    CPPUNIT_ASSERT_EQUAL(saves + 1, rig.kernel.saves);
    ok(rig, rig.verify());
    CPPUNIT_ASSERT_EQUAL(saves + 1, rig.kernel.saves);
    rig.kernel.foreign("*nat\n-F KUBE-SERVICES\nCOMMIT\n");
    const Lines before = drift(rig);
    rig.host.clock += 3'600'000'000'000;
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    CPPUNIT_ASSERT_EQUAL(text(before), text(drift(rig)));  // still compared with what was written
    CPPUNIT_ASSERT_EQUAL(restores, rig.kernel.restores.size());
  }

  void there_must_be_a_written_state() {
    IptablesRig rig;
    CPPUNIT_ASSERT(drift(rig).empty());
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kRetry);
    synced(rig);
    rig.kernel.fail_next = 4;
    CPPUNIT_ASSERT(rig.full({}) != abi::Code::kOk);
    CPPUNIT_ASSERT(drift(rig).empty());
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(std::string("the last transaction failed, so the kernel has no known state to compare with; "
                                     "the daemon retries it"),
                         std::string(rig.error.message));
  }

  void a_truncated_listing_is_an_error() {
    IptablesRig rig;
    synced(rig);
    rig.kernel.cut_save = true;
    CPPUNIT_ASSERT(drift(rig).empty());
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kKernel);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(DriftRowsTest);

}  // namespace drift_rows_test
}  // namespace sluice::test
