// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/drift_rows.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "lib/text.hpp"
#include "plugins/nftables/kernel/encoder.hpp"
#include "sluice/sdk/service.hpp"
#include "test/unit/nftables/backend_rig.hpp"

namespace sluice::test {
namespace drift_rows_test {

using namespace nftables;
using Texts = std::vector<std::string>;

constexpr abi::Family kV4 = abi::Family::kIpv4;

std::string printed(const abi::InspectedDrift& row) {
  constexpr const char* kKinds[] = {"?", "missing", "changed", "extra", "foreign"};
  std::string text = kKinds[static_cast<std::size_t>(row.kind)];
  if (row.count != 1) text += " " + std::to_string(row.count);
  if (row.key.service_name.size != 0) {
    text += " " + sdk::service_port_name(row.key) + "/" + std::string(sdk::protocol_name(row.key.protocol));
  }
  text += " " + std::string(sdk::text(row.object));
  if (row.wanted.size != 0) text += ", wanted " + std::string(sdk::text(row.wanted));
  if (row.found.size != 0) text += ", found " + std::string(sdk::text(row.found));
  return text;
}

std::string lines(const Texts& all) { return lib::joined(all, "\n"); }

Key at(const std::string& ip, std::uint16_t port = 80) {
  return frontend_key(kV4, {false, *sdk::parse_address(ip, kV4), abi::Protocol::kTcp, port});
}
Key slot(const std::string& ip, std::uint32_t number) {
  return slot_key(kV4, {false, *sdk::parse_address(ip, kV4), abi::Protocol::kTcp, 80}, number);
}
Data to(const std::string& ip) { return endpoint_data(kV4, {*sdk::parse_address(ip, kV4), 80}); }
Key address(const std::string& ip) { return address_key(kV4, *sdk::parse_address(ip, kV4)); }

class NftablesDriftRowsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesDriftRowsTest);
  CPPUNIT_TEST(a_healthy_table_has_no_drift);
  CPPUNIT_TEST(each_element_that_differs_has_a_row);
  CPPUNIT_TEST(each_chain_and_set_that_differs_has_a_row);
  CPPUNIT_TEST(rules_are_compared_one_by_one);
  CPPUNIT_TEST(all_that_a_full_transaction_repairs_is_drift);
  CPPUNIT_TEST(one_service_has_only_its_rows);
  CPPUNIT_TEST(without_its_table_one_service_lacks_its_elements);
  CPPUNIT_TEST(shared_elements_belong_to_no_single_service_port);
  CPPUNIT_TEST(objects_that_wait_for_their_removal_are_no_drift);
  CPPUNIT_TEST(interfaces_of_the_flowtable_are_compared);
  CPPUNIT_TEST(drift_needs_a_successful_apply);
  CPPUNIT_TEST(an_inspection_does_not_hide_a_drift_from_verify);
  CPPUNIT_TEST_SUITE_END();

  static Texts drift(NftablesRig& rig, const std::string& name = {}) {
    return rig.rows<abi::InspectedDrift>(abi::InspectionKind::kInspectDrift, printed, name);
  }

  // Both policies, affinity, source ranges, node ports, and Services without endpoints.
  static std::vector<ServiceSpec> rich() {
    ServiceSpec plain;
    plain.endpoints = {{"10.180.2.1", 80, false}, {"10.180.0.1", 80, true}};
    ServiceSpec local = plain;
    local.name = "local";
    local.cluster_ip = "172.30.0.42";
    local.node_port = 30001;
    local.external_local = local.internal_local = true;
    ServiceSpec limited = plain;
    limited.name = "limited";
    limited.cluster_ip = "172.30.0.43";
    limited.vips = {"1.2.3.4"};
    limited.external_ips = {"5.6.7.8"};
    limited.source_ranges = {"203.0.113.0/25", "192.168.0.0/24"};
    limited.affinity_seconds = 60;
    ServiceSpec empty = plain;
    empty.name = "empty";
    empty.cluster_ip = "172.30.0.44";
    empty.node_port = 30002;
    empty.endpoints.clear();
    ServiceSpec elsewhere = plain;
    elsewhere.name = "elsewhere";
    elsewhere.cluster_ip = "172.30.0.45";
    elsewhere.node_port = 30003;
    elsewhere.internal_local = elsewhere.external_local = true;
    elsewhere.endpoints.pop_back();
    return {plain, local, limited, empty, elsewhere};
  }

  // Applies rich(), changes the table, and returns the drift.
  static Texts after(const std::function<void(FakeTable::State&)>& change) {
    NftablesRig rig;
    rig.node.flags = 0;
    rig.node.node_port_addresses = {"192.168.0.20"};
    ok(rig, rig.full(rich()));
    change(rig.table.state);
    return drift(rig);
  }

  void a_healthy_table_has_no_drift() {
    for (const bool counters : {false, true}) {
      NftablesRig rig(kV4, {{"counters", counters ? "true" : "false"}});
      rig.node.service_cidrs = {"172.30.0.0/16"};
      ok(rig, rig.full(rich()));
      CPPUNIT_ASSERT_EQUAL(std::string(), lines(drift(rig)));
      std::vector<ServiceSpec> changed = rich();
      changed[2].endpoints.pop_back();
      ok(rig, rig.delta({changed[2]}, {changed[1]}));
      rig.table.state.clients[{0x10000, *sdk::parse_address("10.0.0.9", kV4)}] = {};
      CPPUNIT_ASSERT_EQUAL(std::string(), lines(drift(rig)));
    }
    NftablesRig v6(abi::Family::kIpv6);
    ServiceSpec service;
    service.cluster_ip = "fd00:1::1";
    service.node_port = 30001;
    service.endpoints = {{"fd00:2::1", 80, true}};
    ok(v6, v6.full({service}));
    CPPUNIT_ASSERT_EQUAL(std::string(), lines(drift(v6)));
  }

  void each_element_that_differs_has_a_row() {
    struct Case {
      std::string row;
      std::function<void(FakeTable::State&)> change;
    };
    const Case kCases[] = {
        {"missing ns1/svc1:p80/tcp element 172.30.0.41:80/tcp slot 0:1 of endpoints, wanted 10.180.0.1:80",
         [](auto& table) { table.elements[SetId::kEndpoints].erase(slot("172.30.0.41", kClusterSlots)); }},
        {"changed ns1/svc1:p80/tcp element 172.30.0.41:80/tcp slot 0:1 of endpoints, wanted 10.180.0.1:80, found "
         "10.180.9.9:80",
         [](auto& table) {
           table.elements[SetId::kEndpoints][slot("172.30.0.41", kClusterSlots)].data = to("10.180.9.9");
         }},
        {"extra ns1/svc1:p80/tcp element 172.30.0.41:80/tcp slot 0:7 of endpoints, found 10.180.9.9:80",
         [](auto& table) {
           table.elements[SetId::kEndpoints][slot("172.30.0.41", 7)] = {to("10.180.9.9"), ""};
         }},
        {"extra element 172.30.0.99:80/tcp of service-treatments, found 0:4d",
         [](auto& table) {
           table.elements[SetId::kServiceIps][at("172.30.0.99")] = {number_data(77), "x"};
         }},
        {"missing ns1/empty:p80/tcp element 172.30.0.44:80/tcp of rejected-services",
         [](auto& table) { table.elements[SetId::kNoEndpointServices].erase(at("172.30.0.44")); }},
        {"changed ns1/empty:p80/tcp element 172.30.0.44:80/tcp of rejected-services, wanted comment "
         "\"ns1/empty:p80\", found another comment",
         [](auto& table) { table.elements[SetId::kNoEndpointServices][at("172.30.0.44")].comment = "x"; }},
        {"missing ns1/elsewhere:p80/tcp element 172.30.0.45 of cluster-ips",
         [](auto& table) { table.elements[SetId::kClusterIps].erase(address("172.30.0.45")); }},
        {"missing element 192.168.0.20 of nodeport-ips",
         [](auto& table) { table.elements[SetId::kNodePortIps].clear(); }},
        {"extra element 192.168.0.21 of nodeport-ips",
         [](auto& table) { table.elements[SetId::kNodePortIps][address("192.168.0.21")] = {}; }},
    };
    for (const Case& one : kCases) CPPUNIT_ASSERT_EQUAL(one.row, lines(after(one.change)));
  }

  void each_chain_and_set_that_differs_has_a_row() {
    struct Case {
      std::string row;
      std::function<void(FakeTable::State&)> change;
    };
    const Case kCases[] = {
        {"missing table ip kube-proxy", [](auto& table) { table = {}; }},
        {"missing chain nat-prerouting", [](auto& table) { table.chains.erase("nat-prerouting"); }},
        {"changed chain nat-prerouting, wanted type nat hook prerouting priority -100, found type nat hook prerouting "
         "priority -50",
         [](auto& table) { table.chains["nat-prerouting"].hook.priority = -50; }},
        {"changed chain nat-prerouting, wanted type nat hook prerouting priority -100, found not attached to a hook",
         [](auto& table) {
           table.chains["nat-prerouting"].is_base = false;
           table.chains["nat-prerouting"].hook = {};
         }},
        {"extra chain early, found type filter hook prerouting priority -300, 0 rules",
         [](auto& table) {
           table.chains["early"] = {true, {"filter", 0, -300}, {}};
         }},
        {"missing set endpoints", [](auto& table) { table.sets.erase("endpoints"); }},
        {"extra set blocked", [](auto& table) { table.sets["blocked"].name = "blocked"; }},
        {"changed set affinity, wanted key type 1479 of 8 bytes, data type 23 of 4 bytes, flags 56, size 262144, "
         "timeout "
         "10800 s, found key type 1479 of 8 bytes, data type 23 of 4 bytes, flags 56, size 7, timeout 10800 s",
         [](auto& table) { table.sets["affinity"].capacity = 7; }},
        {"extra element 0:63 of service-chains, found goto endpoints-2",
         [](auto& table) {
           table.dispatch[{false, 99}] = "endpoints-2";
         }},
    };
    for (const Case& one : kCases) CPPUNIT_ASSERT_EQUAL(one.row, lines(after(one.change)));
    const Texts lost = after([](auto& table) {
      for (auto& [number, chain] : table.dispatch) {
        if (chain == "endpoints-2") chain = "";
      }
    });
    CPPUNIT_ASSERT_EQUAL_MESSAGE(lines(lost), std::size_t{1}, lost.size());
    CPPUNIT_ASSERT_MESSAGE(lost[0],
                           lost[0].ends_with(" of service-chains, wanted goto endpoints-2, found another verdict"));
  }

  void rules_are_compared_one_by_one() {
    Rule drop{"immediate reg 0 drop\n", {}, "mine"};
    CPPUNIT_ASSERT_EQUAL(std::string("extra rule 1 of chain services, found [ immediate reg 0 drop ] comment \"mine\""),
                         lines(after([&](auto& table) {
                           auto& rules = table.chains["services"].rules;
                           rules.insert(rules.begin(), drop);
                         })));
    const Texts gone = after([](auto& table) {
      auto& rules = table.chains["services"].rules;
      rules.erase(rules.begin() + 1);
    });
    CPPUNIT_ASSERT_EQUAL_MESSAGE(lines(gone), std::size_t{1}, gone.size());
    CPPUNIT_ASSERT_MESSAGE(gone[0], gone[0].starts_with("missing rule 2 of chain services, wanted [ "));
    const Texts replaced = after([&](auto& table) { table.chains["services"].rules[1] = drop; });
    CPPUNIT_ASSERT_EQUAL_MESSAGE(lines(replaced), std::size_t{1}, replaced.size());
    CPPUNIT_ASSERT_MESSAGE(replaced[0], replaced[0].starts_with("changed rule 2 of chain services, wanted [ ") &&
                                            has(replaced[0], "found [ immediate reg 0 drop ]"));
    const Texts flushed = after([](auto& table) { table.chains["services"].rules.clear(); });
    CPPUNIT_ASSERT_EQUAL_MESSAGE(lines(flushed), std::size_t{3}, flushed.size());
  }

  // Whatever is removed: there is drift exactly until the next full transaction, which writes something.
  void all_that_a_full_transaction_repairs_is_drift() {
    NftablesRig rig(kV4, {{"counters", "true"}});
    ok(rig, rig.full(rich()));
    const FakeTable::State good = rig.table.state;
    const auto expect = [&](const std::string& what) {
      CPPUNIT_ASSERT_MESSAGE(what, !drift(rig).empty());
      ok(rig, rig.full(rich()));
      CPPUNIT_ASSERT_MESSAGE(what, !rig.table.batches.empty());
      CPPUNIT_ASSERT_EQUAL_MESSAGE(what, std::string(), lines(drift(rig)));
      rig.table.state = good;
      ok(rig, rig.full(rich()));
    };
    std::size_t count = 0;
    for (const auto& [set, elements] : good.elements) {
      for (const auto& [key, element] : elements) {
        rig.table.state.elements[set].erase(key);
        expect(describe(kV4, {set, key, element.data}));
        ++count;
      }
    }
    for (const auto& [name, chain] : good.chains) {
      if (chain.rules.empty()) continue;
      rig.table.state.chains[name].rules.pop_back();
      expect("chain " + name);
      ++count;
    }
    for (const auto& [number, chain] : good.dispatch) {
      rig.table.state.dispatch.erase(number);
      expect("dispatch " + chain);
    }
    CPPUNIT_ASSERT(count > 50);
  }

  void one_service_has_only_its_rows() {
    NftablesRig rig;
    ok(rig, rig.full(rich()));
    rig.table.state.elements[SetId::kNoEndpointServices].clear();
    rig.table.state.elements[SetId::kServiceIps].erase(at("172.30.0.41"));
    rig.table.state.chains["services"].rules.clear();
    CPPUNIT_ASSERT_EQUAL(std::string("missing ns1/empty:p80/tcp element 172.30.0.44:80/tcp of rejected-services"),
                         lines(drift(rig, "ns1/empty")));
    CPPUNIT_ASSERT(drift(rig, "ns1/local").empty());
  }

  void without_its_table_one_service_lacks_its_elements() {
    NftablesRig rig;
    ok(rig, rig.full(rich()));
    rig.table.state = {};
    CPPUNIT_ASSERT_EQUAL(std::string("missing ns1/empty:p80/tcp element 172.30.0.44:80/tcp of rejected-services\n"
                                     "missing ns1/empty:p80/tcp element :30002/tcp of rejected-nodeports\n"
                                     "missing ns1/empty:p80/tcp element 172.30.0.44 of cluster-ips"),
                         lines(drift(rig, "ns1/empty:p80")));
  }

  void shared_elements_belong_to_no_single_service_port() {
    NftablesRig rig;
    ServiceSpec one = rich()[0];
    ServiceSpec other = one;
    other.port_name = "p81";
    other.port = 81;
    ok(rig, rig.full({one, other}));
    rig.table.state.elements[SetId::kClusterIps].clear();
    CPPUNIT_ASSERT_EQUAL(std::string("missing element 172.30.0.41 of cluster-ips"), lines(drift(rig)));
  }

  void objects_that_wait_for_their_removal_are_no_drift() {
    NftablesRig rig;
    ok(rig, rig.full(rich()));
    ok(rig, rig.delta({}, rich()));
    CPPUNIT_ASSERT_EQUAL(std::string(), lines(drift(rig)));
    // Of an earlier process: emptied by one verify(), removed by the next.
    rig.restart();
    ok(rig, rig.full({}));
    CPPUNIT_ASSERT(rig.table.state.chains.contains("endpoints-2"));
    for (int i = 0; i < 3; ++i) {
      CPPUNIT_ASSERT_EQUAL(std::string(), lines(drift(rig)));
      rig.pass(2);
      ok(rig, rig.verify());
    }
    CPPUNIT_ASSERT(!rig.table.state.chains.contains("endpoints-2"));
    rig.table.state.chains["endpoints-2"];
    CPPUNIT_ASSERT_EQUAL(std::string("extra chain endpoints-2, found not attached to a hook, 0 rules"),
                         lines(drift(rig)));
  }

  void interfaces_of_the_flowtable_are_compared() {
    NftablesRig rig(kV4, {{"offloadInterfaces[0]", "eth*"}});
    ok(rig, rig.full(rich()));
    CPPUNIT_ASSERT_EQUAL(std::string(), lines(drift(rig)));
    rig.table.state.flowtable = {{"eth7"}};
    CPPUNIT_ASSERT_EQUAL(std::string("missing interface eth0 of flowtable service-flows\n"
                                     "extra interface eth7 of flowtable service-flows"),
                         lines(drift(rig)));
    rig.table.state.flowtable.reset();
    CPPUNIT_ASSERT_EQUAL(std::string("missing flowtable service-flows"), lines(drift(rig)));
  }

  void drift_needs_a_successful_apply() {
    NftablesRig rig;
    CPPUNIT_ASSERT(drift(rig).empty());
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kRetry);
    ok(rig, rig.full(rich()));
    rig.table.fail_next = sdk::Failure(abi::Code::kRetry, {}, "no answer");
    ServiceSpec more = rich()[0];
    more.port = 81;
    CPPUNIT_ASSERT(rig.delta({more}) == abi::Code::kRetry);
    CPPUNIT_ASSERT(drift(rig).empty());
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kRetry);
    ok(rig, rig.full(rich()));
    CPPUNIT_ASSERT(drift(rig).empty());
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kOk);
  }

  void an_inspection_does_not_hide_a_drift_from_verify() {
    NftablesRig rig;
    ok(rig, rig.full(rich()));
    rig.table.state.chains["services"].rules.clear();
    rig.table.report_change("table ip kube-proxy: a rule of chain services was removed");
    const std::string before = rig.table.text();
    const std::uint64_t commits = rig.table.statistics.commits;
    const std::uint64_t listings = rig.table.statistics.listings;
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, drift(rig).size());
    CPPUNIT_ASSERT_EQUAL(listings + 1, rig.table.statistics.listings);
    CPPUNIT_ASSERT_EQUAL(commits, rig.table.statistics.commits);
    CPPUNIT_ASSERT_EQUAL(before, rig.table.text());
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, drift(rig).size());  // also until the full transaction
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesDriftRowsTest);

}  // namespace drift_rows_test
}  // namespace sluice::test
