// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Drift of all parts of the kernel as rows.
#include "plugins/ipvs/drift_rows.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "test/unit/common/inspection_examples.hpp"
#include "test/unit/ipvs/backend_fixture.hpp"
#include "test/unit/ipvs/inspection_rows.hpp"

namespace sluice::test {
namespace drift_rows_test {

using ipvs::SetEntry;
using ipvs::SetId;

std::string printed_drift(const abi::InspectedDrift& row) {
  constexpr const char* kKinds[] = {"?", "missing", "changed", "extra", "foreign"};
  std::string line = kKinds[static_cast<std::size_t>(row.kind)];
  if (row.key.service_name.size != 0) line += " " + sdk::service_port_name(row.key);
  line += ": " + std::string(sdk::text(row.object));
  if (row.count != 1) line += " (" + std::to_string(row.count) + ")";
  if (row.wanted.size != 0) line += ", wanted " + std::string(sdk::text(row.wanted));
  if (row.found.size != 0) line += ", found " + std::string(sdk::text(row.found));
  return line;
}

class IpvsDriftRowsTest : public IpvsFixture, private InspectionExamples {
  CPPUNIT_TEST_SUITE(IpvsDriftRowsTest);
  CPPUNIT_TEST(a_healthy_node_has_no_rows);
  CPPUNIT_TEST(draining_real_servers_are_no_drift);
  CPPUNIT_TEST(virtual_servers_are_listed);
  CPPUNIT_TEST(real_servers_are_listed);
  CPPUNIT_TEST(sets_are_listed);
  CPPUNIT_TEST(addresses_are_listed);
  CPPUNIT_TEST(rules_are_listed);
  CPPUNIT_TEST(foreign_rules_before_our_jumps_are_listed);
  CPPUNIT_TEST(one_service_is_listed);
  CPPUNIT_TEST(what_verify_repairs_has_a_row_and_is_still_found);
  CPPUNIT_TEST(a_call_changes_nothing);
  CPPUNIT_TEST(without_a_complete_write_the_call_returns_retry);
  CPPUNIT_TEST(a_dump_that_misses_a_virtual_server_is_repeated);
  CPPUNIT_TEST(a_listing_that_fails_is_an_error);
  CPPUNIT_TEST_SUITE_END();

  static std::vector<std::string> rows(IpvsRig& rig, const std::string& name = {}) {
    return inspected_rows<abi::InspectedDrift>(rig, abi::InspectionKind::kInspectDrift, name, printed_drift);
  }
  static void expect(IpvsRig& rig, const std::vector<std::string>& lines, const std::string& name = {}) {
    const std::vector<std::string> found = rows(rig, name);
    CPPUNIT_ASSERT_EQUAL_MESSAGE(rig.error.message, text(lines), text(found));
    ok(rig, rig.inspected);
  }
  static std::set<SetEntry>& entries(IpvsRig& rig, SetId set) {
    return rig.sets.sets.at(ipvs::set_name(set, kFamily)).entries;
  }
  static std::set<abi::Address>& bound(IpvsRig& rig) {
    return rig.links.links.at("kube-ipvs0").addresses.at(kFamily);
  }

  // Both policies, affinity, source ranges, node ports, no endpoints.
  static std::vector<ServiceSpec> rich() {
    ServiceSpec local = example(1);
    local.external_local = local.internal_local = true;
    local.vips = {"1.2.3.4"};
    local.external_ips = {"192.0.2.10"};
    local.source_ranges = {"203.0.113.0/25", "0.0.0.0/0"};
    local.node_port = 30001;
    local.health_check_node_port = 32000;
    ServiceSpec closed = example(2);
    closed.vips = {"1.2.3.5"};
    closed.source_ranges = {"203.0.113.0/25"};
    closed.affinity_seconds = 60;
    closed.node_port = 30002;
    ServiceSpec empty = example(3);
    empty.endpoints.clear();
    empty.node_port = 30003;
    ServiceSpec remote = example(4);
    remote.endpoints.pop_back();
    remote.external_local = true;
    remote.protocol = abi::Protocol::kUdp;
    remote.node_port = 30004;
    ServiceSpec sctp = example(5);
    sctp.protocol = abi::Protocol::kSctp;
    sctp.node_port = 30005;
    return {local, closed, empty, remote, sctp};
  }

  void a_healthy_node_has_no_rows() {
    IpvsRig rig;
    ok(rig, rig.full(rich()));
    expect(rig, {});
    std::vector<ServiceSpec> fewer = rich();
    const ServiceSpec removed = fewer.back();
    fewer.pop_back();
    ok(rig, rig.delta({}, {removed}));
    expect(rig, {});
    rig.restart();  // adopts everything
    ok(rig, rig.full(fewer));
    expect(rig, {});
  }

  void draining_real_servers_are_no_drift() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    std::vector<ServiceSpec> fewer = services();
    rig.servers.find(rig.key("172.30.0.3", 80), {address("10.0.0.6"), 8080})->connections = 1;
    fewer[2].endpoints.pop_back();
    ok(rig, rig.delta({fewer[2]}));
    CPPUNIT_ASSERT(has(rig.servers_text(), "10.0.0.6:8080*0"));
    expect(rig, {});
    rig.servers.held.at(rig.key("172.30.0.3", 80)).real.erase({address("10.0.0.6"), 8080});
    expect(rig, {});
  }

  void virtual_servers_are_listed() {
    IpvsRig rig;
    ok(rig, rig.full(rich()));
    rig.servers.held.erase(rig.key("172.30.0.41", 80));
    rig.servers.held.at(rig.key("1.2.3.5", 80)).attributes.persistence_seconds = 77;
    put_server(rig, rig.key("172.30.0.41", 81));  // at an address of ours
    put_server(rig, rig.key("10.99.0.1", 80));    // of another program: stays
    expect(rig,
           {"missing ns1/svc1:p80: virtual server 172.30.0.41:80/TCP",
            "changed ns1/svc2:p80: virtual server 1.2.3.5:80/TCP, wanted scheduler rr, persistent for 60 s, flags 1, "
            "found scheduler rr, persistent for 77 s, flags 1",
            "extra: virtual server 172.30.0.41:81/TCP"});
  }

  void real_servers_are_listed() {
    IpvsRig rig;
    ok(rig, rig.full({example(1), example(2)}));
    auto& real = rig.servers.held.at(rig.key("172.30.0.42", 80)).real;
    real.at({address("10.180.0.1"), 80}).weight = 3;
    real.erase({address("10.180.2.1"), 80});
    real[{address("10.180.7.7"), 80}] = {};
    auto& other = rig.servers.held.at(rig.key("172.30.0.41", 80)).real;
    other.at({address("10.180.0.1"), 80}).masquerades = false;
    const std::string of = " of virtual server 172.30.0.42:80/TCP";
    expect(rig,
           {"changed ns1/svc1:p80: real server 10.180.0.1:80 of virtual server 172.30.0.41:80/TCP, wanted weight 1, "
            "found weight 1, forwarding method not NAT",
            "extra ns1/svc2:p80: real server 10.180.7.7:80" + of + ", found weight 1",
            "changed ns1/svc2:p80: real server 10.180.0.1:80" + of + ", wanted weight 1, found weight 3",
            "missing ns1/svc2:p80: real server 10.180.2.1:80" + of});
  }

  void sets_are_listed() {
    IpvsRig rig;
    ok(rig, rig.full(rich()));
    std::set<SetEntry>& cluster = entries(rig, SetId::kClusterIp);
    SetEntry entry = *cluster.begin();
    cluster.erase(entry);
    entry.address = address("172.30.0.99");
    cluster.insert(entry);
    entries(rig, SetId::kLoopBack).clear();  // endpoints of several service ports
    entries(rig, SetId::kNodePortTcp).erase(entries(rig, SetId::kNodePortTcp).begin());
    SetEntry unknown = entry;
    unknown.port = 99;
    entries(rig, SetId::kExternalIp).insert(unknown);
    rig.sets.unreadable.insert(unknown);
    rig.sets.sets.at("KUBE-NODE-PORT-UDP").type = "hash:ip";
    rig.sets.sets.erase("KUBE-LOAD-BALANCER-FW");
    expect(rig,
           {"missing ns1/svc1:p80: entry 172.30.0.41,tcp:80 of KUBE-CLUSTER-IP",
            "missing ns1/svc1:p80: entry 1.2.3.4,tcp:80 of KUBE-LOAD-BALANCER-FW",
            "missing ns1/svc1:p80: entry 30001 of KUBE-NODE-PORT-TCP",
            "missing ns1/svc2:p80: entry 1.2.3.5,tcp:80 of KUBE-LOAD-BALANCER-FW",
            "missing ns1/svc4:p80: entry 30004 of KUBE-NODE-PORT-UDP",
            "missing ns1/svc5:p80: entry 10.180.0.1,sctp:80,10.180.0.1 of KUBE-LOOP-BACK",
            "missing: entry 10.180.0.1,tcp:80,10.180.0.1 of KUBE-LOOP-BACK",
            "extra: entry 172.30.0.99,tcp:80 of KUBE-CLUSTER-IP",
            "extra: entries of KUBE-EXTERNAL-IP with unknown options", "missing: set KUBE-LOAD-BALANCER-FW",
            "changed: set KUBE-NODE-PORT-UDP, wanted bitmap:port, found hash:ip"});
  }

  void addresses_are_listed() {
    IpvsRig rig;
    ok(rig, rig.full({example(1), example(2)}));
    bound(rig).erase(address("172.30.0.42"));
    bound(rig).insert(address("10.99.0.2"));
    expect(rig, {"missing ns1/svc2:p80: address 172.30.0.42 of kube-ipvs0", "foreign: address 10.99.0.2 of kube-ipvs0"});
    rig.links.links.clear();
    const std::vector<std::string> lost = {"missing ns1/svc1:p80: address 172.30.0.41 of kube-ipvs0",
                                           "missing ns1/svc2:p80: address 172.30.0.42 of kube-ipvs0"};
    expect(rig, {lost[0], lost[1], "missing: link kube-ipvs0"});
    rig.links.put("kube-ipvs0", "dummy");
    expect(rig, {lost[0], lost[1], "changed: link kube-ipvs0, found replaced"});
    rig.links.links.at("kube-ipvs0").state.kind = "bridge";
    expect(rig, {lost[0], lost[1], "changed: link kube-ipvs0, found replaced by a link that is not of kind dummy"});
  }

  void rules_are_listed() {
    IpvsRig rig;
    ok(rig, rig.full(rich()));
    const std::string closed = rig.rules.tables.at("filter").at("KUBE-IPVS-OUT-FILTER").front();
    erase_rules(rig.rules, "filter", "KUBE-IPVS-OUT-FILTER", "--vaddr");
    erase_rules(rig.rules, "nat", "PREROUTING", "KUBE-SERVICES");
    erase_rules(rig.rules, "nat", "KUBE-MARK-MASQ", "MARK");
    rig.rules.tables.at("filter").at("KUBE-IPVS-FILTER").push_back("-p icmp -j ACCEPT");
    auto& order = rig.rules.tables.at("nat").at("KUBE-NODE-PORT");
    std::swap(order.front(), order.back());
    rig.rules.tables.at("nat").erase("KUBE-IPVS-HANDOVER");
    std::vector<std::string> found = rows(rig);
    const auto take = [&](const std::string& begin) {
      const auto is = [&](const std::string& line) { return line.starts_with(begin); };
      CPPUNIT_ASSERT_MESSAGE(begin + " in\n" + text(found), std::any_of(found.begin(), found.end(), is));
      std::erase_if(found, is);
    };
    CPPUNIT_ASSERT_EQUAL("missing ns1/svc2:p80: rule filter -A KUBE-IPVS-OUT-FILTER " + closed, found.front());
    for (const std::string begin :
         {"missing ns1/svc2:p80: rule filter -A KUBE-IPVS-OUT-FILTER ", "missing: rule nat -A PREROUTING ",
          "missing: rule nat -A KUBE-MARK-MASQ ", "extra: rule filter -A KUBE-IPVS-FILTER -p icmp -j ACCEPT",
          "changed: chain nat KUBE-NODE-PORT, found its rules are in another order",
          "missing: chain nat KUBE-IPVS-HANDOVER", "missing: rule nat -A KUBE-IPVS-HANDOVER "}) {
      take(begin);
    }
    CPPUNIT_ASSERT_EQUAL(std::string(), text(found));
  }

  void foreign_rules_before_our_jumps_are_listed() {
    IpvsRig rig;
    rig.rules.foreign("*nat\n-A PREROUTING -p udp -j ACCEPT\nCOMMIT\n");
    ok(rig, rig.full(rich()));
    expect(rig, {});  // it comes after our jump
    // Logging, kubelet, another backend, and rules of other chains have no effect on this backend.
    rig.rules.foreign(
        "*filter\n:KUBE-FIREWALL - [0:0]\n:KUBE-NODEPORTS - [0:0]\n:FOREIGN - [0:0]\n-I INPUT -j LOG\n"
        "-I INPUT -j KUBE-FIREWALL\n-I INPUT -j KUBE-NODEPORTS\n-A FOREIGN -j DROP\nCOMMIT\n");
    expect(rig, {});
    rig.rules.foreign("*nat\n-I OUTPUT -p tcp -j ACCEPT\nCOMMIT\n*filter\n-I INPUT -j FOREIGN\nCOMMIT\n");
    expect(rig, {"foreign: rule filter -A INPUT -j FOREIGN", "foreign: rule nat -A OUTPUT -p tcp -j ACCEPT"});
  }

  void one_service_is_listed() {
    IpvsRig rig;
    ok(rig, rig.full(rich()));
    rig.servers.held.erase(rig.key("172.30.0.41", 80));
    rig.servers.held.erase(rig.key("172.30.0.42", 80));
    rig.sets.sets.erase("KUBE-LOAD-BALANCER-FW");
    const std::uint64_t dumps = rig.servers.real_dumps;
    expect(rig,
           {"missing ns1/svc2:p80: virtual server 172.30.0.42:80/TCP",
            "missing ns1/svc2:p80: entry 1.2.3.5,tcp:80 of KUBE-LOAD-BALANCER-FW"},
           "ns1/svc2");
    CPPUNIT_ASSERT_EQUAL(dumps + 2, rig.servers.real_dumps);  // of its other virtual servers
    expect(rig, {}, "ns1/svc3");
  }

  void what_verify_repairs_has_a_row_and_is_still_found() {
    IpvsRig rig;
    const ipvs::ServerKey key = rig.key("172.30.0.41", 80);
    const std::vector<std::function<void()>> changes{
        [&] { rig.servers.held.clear(); },
        [&] { rig.servers.held.at(key).real.erase(rig.servers.held.at(key).real.begin()); },
        [&] { rig.servers.held.at(key).attributes.scheduler = "lc"; },
        [&] { entries(rig, SetId::kClusterIp).clear(); },
        [&] { rig.sets.sets.erase("KUBE-NODE-PORT-TCP"); },
        [&] { rig.links.links.clear(); },
        [&] { bound(rig).erase(address("172.30.0.41")); },
        [&] { rig.rules.foreign("*nat\n-F KUBE-SERVICES\nCOMMIT\n"); },
    };
    for (const auto& change : changes) {
      ok(rig, rig.full(rich()));
      ok(rig, rig.verify());
      expect(rig, {});
      rig.host.clock += 3'600'000'000'000;
      change();
      CPPUNIT_ASSERT(!rows(rig).empty());
      CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
      // It is listed until it is repaired.
      CPPUNIT_ASSERT(!rows(rig).empty());
    }
  }

  void a_call_changes_nothing() {
    IpvsRig rig;
    ok(rig, rig.full(rich()));
    rig.sets.sets.erase("KUBE-CLUSTER-IP");
    rig.servers.held.clear();
    rig.links.links.clear();
    const std::string before = rig.kernel_text();
    const std::uint64_t messages = rig.messages();
    rows(rig);
    CPPUNIT_ASSERT_EQUAL(before, rig.kernel_text());
    CPPUNIT_ASSERT_EQUAL(messages, rig.messages());
    // A check that has just run is not postponed: rows need no rest.
    rig.host.step = 1'000'000'000;
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    CPPUNIT_ASSERT(!rows(rig).empty());
  }

  void without_a_complete_write_the_call_returns_retry() {
    IpvsRig rig;
    CPPUNIT_ASSERT(rows(rig).empty() && rig.inspected == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.servers.dumps());
    ok(rig, rig.full(rich()));
    rig.sets.fail_call = "header";
    CPPUNIT_ASSERT(rig.full(rich()) == abi::Code::kRetry);
    CPPUNIT_ASSERT(rows(rig).empty() && rig.inspected == abi::Code::kRetry);
    CPPUNIT_ASSERT(has(rig.error.message, "the last transaction failed"));
    ok(rig, rig.full(rich()));
    expect(rig, {});
  }

  void a_dump_that_misses_a_virtual_server_is_repeated() {
    IpvsRig rig;
    ok(rig, rig.full(rich()));
    rig.servers.spoil_servers = [once = true](auto& list) mutable {
      if (std::exchange(once, false)) list.pop_back();
    };
    expect(rig, {});
    rig.servers.spoil_servers = [](auto& list) { list.push_back(list.front()); };
    expect(rig, {});
  }

  void a_listing_that_fails_is_an_error() {
    IpvsRig rig;
    ok(rig, rig.full(rich()));
    rig.servers.dumps_left = 3;
    CPPUNIT_ASSERT(rows(rig).empty() && rig.inspected == abi::Code::kRetry);
    rig.sets.fail_call = "entries";
    CPPUNIT_ASSERT(rows(rig).empty() && rig.inspected == abi::Code::kRetry);
    rig.rules.cut_save = true;
    CPPUNIT_ASSERT(rows(rig).empty() && rig.inspected == abi::Code::kKernel);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsDriftRowsTest);

}  // namespace drift_rows_test
}  // namespace sluice::test
