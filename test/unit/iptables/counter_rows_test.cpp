// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Rows of `sluicectl counters` from the rules of the kernel.
#include "plugins/iptables/counter_rows.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sluice/sdk/address.hpp"
#include "sluice/sdk/service.hpp"
#include "test/unit/iptables/inspection_rig.hpp"

namespace sluice::test {
namespace counter_rows_test {

constexpr abi::Family kV4 = abi::Family::kIpv4;

class CounterRowsTest : public CppUnit::TestFixture, private EveryKindOfRule {
  CPPUNIT_TEST_SUITE(CounterRowsTest);
  CPPUNIT_TEST(connections_are_counted_by_frontend_and_endpoint);
  CPPUNIT_TEST(endpoints_of_both_policies_are_counted_once);
  CPPUNIT_TEST(refused_packets_are_counted);
  CPPUNIT_TEST(source_ranges_are_counted_apart);
  CPPUNIT_TEST(a_node_port_with_two_rules_is_one_row);
  CPPUNIT_TEST(protocols_are_distinguished);
  CPPUNIT_TEST(one_service_is_selected);
  CPPUNIT_TEST(deltas_keep_the_counters_of_unchanged_rules);
  CPPUNIT_TEST(counting_only_reads);
  CPPUNIT_TEST_SUITE_END();

  static Lines counters(IptablesRig& rig, const std::string& name = {}) {
    return inspect_rows<abi::InspectedCounters>(
        rig, abi::InspectionKind::kInspectCounters,
        [](const abi::InspectedCounters& row) {
          std::string line = sdk::service_port_id(row.key);
          const auto has = [&](std::uint32_t flag) { return (row.flags & flag) != 0; };
          if (has(abi::kCountedNodePort)) {
            line += " :" + std::to_string(row.port);
          } else if (has(abi::kCountedFrontend)) {
            line += " " + sdk::host_port(row.address, kV4, row.port);
          }
          if (has(abi::kCountedTarget)) line += " -> " + sdk::host_port(row.target, kV4, row.target_port);
          if (has(abi::kKnownConnections)) line += " connections " + std::to_string(row.connections);
          if (has(abi::kKnownRefused)) line += " refused " + std::to_string(row.refused);
          CPPUNIT_ASSERT_EQUAL(0u, row.flags & (abi::kKnownPackets | abi::kKnownBytes | abi::kKnownReplyPackets |
                                                abi::kKnownReplyBytes | abi::kKnownActive));
          return line;
        },
        name);
  }
  static void expect(IptablesRig& rig, const Lines& lines, const std::string& name = {}) {
    CPPUNIT_ASSERT_EQUAL(text(lines), text(counters(rig, name)));
    ok(rig, rig.inspected);
  }
  static void synced(IptablesRig& rig) { ok(rig, rig.full(all_kinds())); }

  void connections_are_counted_by_frontend_and_endpoint() {
    for (const bool legacy : {false, true}) {
      IptablesRig rig;
      if (legacy) rig.kernel.use_legacy();
      synced(rig);
      rig.kernel.packets[{"nat KUBE-SERVICES", "172.30.0.43"}] = 7;
      rig.kernel.packets[{"nat KUBE-SEP-", "ns1/svc3:p80 -m udp"}] = 7;
      rig.kernel.packets[{"nat PREROUTING", ""}] = 99;
      expect(rig, {"ns1/svc3:p80/udp connections 7", "ns1/svc3:p80/udp 172.30.0.43:80 connections 7",
                   "ns1/svc3:p80/udp -> 10.180.0.1:80 connections 7"},
             "ns1/svc3");
    }
  }

  void endpoints_of_both_policies_are_counted_once() {
    IptablesRig rig;
    synced(rig);
    rig.kernel.packets[{"nat KUBE-SEP-", "--set -m tcp -p tcp -j DNAT --to-destination 10.180.0.1:80"}] = 3;
    rig.kernel.packets[{"nat KUBE-SEP-", "--set -m tcp -p tcp -j DNAT --to-destination 10.180.2.1:80"}] = 2;
    rig.kernel.packets[{"nat KUBE-NODEPORTS", "30002"}] = 4;
    rig.kernel.packets[{"nat KUBE-SERVICES", "1.2.3.5"}] = 1;
    Lines found = counters(rig, "ns1/svc2");
    std::sort(found.begin() + 1, found.end());
    CPPUNIT_ASSERT_EQUAL(
        text({"ns1/svc2:p80/tcp connections 5", "ns1/svc2:p80/tcp -> 10.180.0.1:80 connections 3",
              "ns1/svc2:p80/tcp -> 10.180.2.1:80 connections 2", "ns1/svc2:p80/tcp 1.2.3.5:80 connections 1",
              "ns1/svc2:p80/tcp 172.30.0.42:80 connections 0", "ns1/svc2:p80/tcp :30002 connections 4"}),
        text(found));
  }

  void refused_packets_are_counted() {
    IptablesRig rig;
    synced(rig);
    rig.kernel.packets[{"filter KUBE-SERVICES", "172.30.0.44"}] = 5;
    rig.kernel.packets[{"filter KUBE-EXTERNAL-SERVICES", "30004"}] = 2;
    expect(rig, {"ns1/svc4:p80/tcp refused 7", "ns1/svc4:p80/tcp 172.30.0.44:80 refused 5",
                 "ns1/svc4:p80/tcp 192.0.2.14:80 refused 0", "ns1/svc4:p80/tcp :30004 refused 2"},
           "ns1/svc4");
  }

  void source_ranges_are_counted_apart() {
    IptablesRig rig;
    synced(rig);
    rig.kernel.packets[{"nat KUBE-SERVICES", "1.2.3.4"}] = 10;
    rig.kernel.packets[{"filter KUBE-PROXY-FIREWALL", "1.2.3.4"}] = 4;
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc1:p80/tcp 1.2.3.4:80 connections 6 refused 4"), counters(rig)[1]);
    rig.kernel.packets[{"filter KUBE-PROXY-FIREWALL", "1.2.3.4"}] = 11;
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc1:p80/tcp 1.2.3.4:80 refused 11"), counters(rig)[1]);
    // Dropped by two rules: other sources, and no endpoints on this node.
    rig.kernel.packets[{"nat KUBE-SERVICES", "1.2.3.6"}] = 9;
    rig.kernel.packets[{"filter KUBE-PROXY-FIREWALL", "1.2.3.6"}] = 2;
    rig.kernel.packets[{"filter KUBE-EXTERNAL-SERVICES", "1.2.3.6"}] = 3;
    expect(rig, {"ns1/svc5:p80/tcp connections 0 refused 5", "ns1/svc5:p80/tcp 1.2.3.6:80 connections 4 refused 5",
                 "ns1/svc5:p80/tcp 172.30.0.45:80 refused 0", "ns1/svc5:p80/tcp -> 10.180.2.1:80 connections 0"},
           "ns1/svc5");
  }

  void a_node_port_with_two_rules_is_one_row() {
    IptablesRig rig;
    rig.kernel.counter_error = 0;
    synced(rig);
    rig.kernel.packets[{"nat KUBE-NODEPORTS", "-d 127.0.0.0/8 --dport 30002"}] = 2;
    rig.kernel.packets[{"nat KUBE-NODEPORTS", "-p tcp --dport 30002"}] = 3;
    for (int i = 0; i < 2; ++i) {
      const Lines found = counters(rig, "ns1/svc2");
      CPPUNIT_ASSERT_EQUAL_MESSAGE(text(found), std::ptrdiff_t{1},
                                   std::count(found.begin(), found.end(), "ns1/svc2:p80/tcp :30002 connections 5"));
      auto& rules = rig.kernel.tables["nat"]["KUBE-NODEPORTS"];
      std::reverse(rules.begin(), rules.end());
    }
  }

  void protocols_are_distinguished() {
    IptablesRig rig;
    ServiceSpec udp = example();
    udp.protocol = abi::Protocol::kUdp;
    ok(rig, rig.full({example(), udp}));
    rig.kernel.packets[{"nat KUBE-SERVICES", "-p udp"}] = 2;
    rig.kernel.packets[{"nat KUBE-SERVICES", "-p tcp"}] = 1;
    Lines found;
    for (const std::string& line : counters(rig)) {
      if (line.find("172.30.0.41") != std::string::npos) found.push_back(line);
    }
    CPPUNIT_ASSERT_EQUAL(text({"ns1/svc1:p80/tcp 172.30.0.41:80 connections 1",
                               "ns1/svc1:p80/udp 172.30.0.41:80 connections 2"}),
                         text(found));
  }

  void one_service_is_selected() {
    IptablesRig rig;
    synced(rig);
    for (const std::string& line : counters(rig, "ns1/svc3:p80")) CPPUNIT_ASSERT(line.starts_with("ns1/svc3:p80/udp"));
    CPPUNIT_ASSERT(counters(rig, "ns1/svc").empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{5}, static_cast<std::size_t>([&] {
                           const Lines all = counters(rig);
                           return std::count_if(all.begin(), all.end(), [](const std::string& line) {
                             const auto at = line.find(' ');
                             return line.compare(at, 12, " connections") == 0 || line.compare(at, 8, " refused") == 0;
                           });
                         }()));
  }

  // The fake kernel has no counters of its own, so the lines of the restore show which rules start at 0.
  void deltas_keep_the_counters_of_unchanged_rules() {
    IptablesRig rig;
    synced(rig);
    ServiceSpec changed = all_kinds()[0];
    changed.endpoints.push_back({"10.180.3.1", 80, false});
    ok(rig, rig.delta({changed}));
    const std::string& restore = rig.kernel.restores.back();
    CPPUNIT_ASSERT_MESSAGE(restore, restore.find("-A KUBE-SERVICES") == restore.npos &&
                                        restore.find("-I KUBE-SERVICES") == restore.npos &&
                                        restore.find("--to-destination 10.180.0.1") == restore.npos &&
                                        restore.find("--to-destination 10.180.3.1") != restore.npos);
  }

  void counting_only_reads() {
    IptablesRig rig;
    CPPUNIT_ASSERT(counters(rig).empty());
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kRetry);
    synced(rig);
    ok(rig, rig.verify());
    const std::size_t saves = rig.kernel.saves;
    const std::size_t restores = rig.kernel.restores.size();
    counters(rig);
    ok(rig, rig.verify());
    CPPUNIT_ASSERT_EQUAL(saves + 1, rig.kernel.saves);
    CPPUNIT_ASSERT_EQUAL(restores, rig.kernel.restores.size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CounterRowsTest);

}  // namespace counter_rows_test
}  // namespace sluice::test
