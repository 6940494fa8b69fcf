// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The description of virtual servers, sets, rules and addresses of the kernel.
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "test/unit/common/inspection_examples.hpp"
#include "test/unit/ipvs/backend_fixture.hpp"

namespace sluice::test {
namespace inspection_test {

using ipvs::SetEntry;
using ipvs::SetId;

constexpr const char* kAll = "10.180.0.1:80, 10.180.2.1:80";

class IpvsInspectionTest : public IpvsFixture, private InspectionExamples {
  CPPUNIT_TEST_SUITE(IpvsInspectionTest);
  CPPUNIT_TEST(frontends_are_shown_with_their_endpoints);
  CPPUNIT_TEST(policy_local_is_shown);
  CPPUNIT_TEST(services_without_endpoints_are_shown);
  CPPUNIT_TEST(source_ranges_are_shown);
  CPPUNIT_TEST(node_ports_are_shown_with_their_addresses);
  CPPUNIT_TEST(sctp_and_ipv6_are_shown);
  CPPUNIT_TEST(one_service_is_shown);
  CPPUNIT_TEST(every_call_reads_the_kernel);
  CPPUNIT_TEST(drift_of_real_servers_is_shown);
  CPPUNIT_TEST(drift_of_virtual_servers_and_addresses_is_shown);
  CPPUNIT_TEST(drift_of_sets_is_shown);
  CPPUNIT_TEST(drift_of_rules_is_shown);
  CPPUNIT_TEST(drift_of_source_ranges_is_shown);
  CPPUNIT_TEST(objects_that_no_service_wants_come_last);
  CPPUNIT_TEST(before_the_first_apply_the_call_returns_retry);
  CPPUNIT_TEST(a_listing_that_fails_is_an_error);
  CPPUNIT_TEST(verify_works_as_before_after_a_call);
  CPPUNIT_TEST_SUITE_END();

  static void expect(IpvsRig& rig, const std::vector<std::string>& lines) {
    const std::vector<std::string> found = rig.inspect();
    CPPUNIT_ASSERT_EQUAL_MESSAGE(rig.error.message, text(lines), text(found));
  }
  static void expect_first(IpvsRig& rig, const std::string& line) {
    CPPUNIT_ASSERT_EQUAL(line, rig.inspect("ns1/svc1").front());
  }
  static SetEntry front(const std::string& ip, std::uint16_t port = 80) {
    SetEntry entry;
    entry.address = address(ip);
    entry.port = port;
    entry.protocol = abi::Protocol::kTcp;
    return entry;
  }
  static std::set<SetEntry>& entries(IpvsRig& rig, SetId set) {
    return rig.sets.sets.at(ipvs::set_name(set, kFamily)).entries;
  }
  static void erase(IpvsRig& rig, const std::string& table, const std::string& chain, const std::string& part) {
    erase_rules(rig.rules, table, chain, part);
  }

  void frontends_are_shown_with_their_endpoints() {
    IpvsRig rig;
    ServiceSpec service = example();
    service.external_ips = {"192.0.2.10"};
    service.vips = {"1.2.3.4"};
    service.node_port = 30001;
    ServiceSpec sticky = example(2);
    sticky.affinity_seconds = 60;
    sticky.protocol = abi::Protocol::kUdp;
    ServiceSpec unnamed = example(3);
    unnamed.port_name = "";
    ok(rig, rig.full({sticky, service, unnamed}));
    const std::string all = kAll;
    expect(rig, {"ns1/svc1:p80 1.2.3.4:80/tcp masqueraded -> " + all, "ns1/svc1:p80 172.30.0.41:80/tcp -> " + all,
                 "ns1/svc1:p80 192.0.2.10:80/tcp masqueraded -> " + all,
                 "ns1/svc1:p80 :30001/tcp at 192.168.0.2 masqueraded -> " + all,
                 "ns1/svc2:p80 172.30.0.42:80/udp sticky for 60 s -> " + all, "ns1/svc3 172.30.0.43:80/tcp -> " + all});
    CPPUNIT_ASSERT(rig.inspect() == rig.inspect_lines());
  }

  // IPVS does not distinguish clients by source: policy Local means the same endpoints for all of them.
  void policy_local_is_shown() {
    IpvsRig rig;
    ServiceSpec local = example();
    local.node_port = 30001;
    local.vips = {"1.2.3.3"};
    local.external_ips = {"192.0.2.10"};
    local.external_local = true;
    ServiceSpec remote = example(2);
    remote.endpoints.pop_back();
    remote.vips = {"1.2.3.4"};
    remote.external_local = true;
    ServiceSpec internal = example(3);
    internal.internal_local = true;
    ok(rig, rig.full({local, remote, internal}));
    const std::string all = kAll;
    expect(rig,
           {"ns1/svc1:p80 1.2.3.3:80/tcp -> 10.180.0.1:80", "ns1/svc1:p80 172.30.0.41:80/tcp -> " + all,
            "ns1/svc1:p80 192.0.2.10:80/tcp -> 10.180.0.1:80",
            "ns1/svc1:p80 :30001/tcp at 192.168.0.2 -> 10.180.0.1:80", "ns1/svc2:p80 1.2.3.4:80/tcp -> 10.180.2.1:80",
            "ns1/svc2:p80 172.30.0.42:80/tcp -> 10.180.2.1:80", "ns1/svc3:p80 172.30.0.43:80/tcp -> 10.180.0.1:80"});
  }

  void services_without_endpoints_are_shown() {
    IpvsRig rig;
    ServiceSpec empty = example();
    empty.endpoints.clear();
    empty.affinity_seconds = 60;
    empty.node_port = 30001;
    empty.vips = {"1.2.3.4"};
    empty.source_ranges = {"203.0.113.0/25"};
    ok(rig, rig.full({empty}));
    expect(rig, {"ns1/svc1:p80 1.2.3.4:80/tcp -> rejected, no endpoints; only for 203.0.113.0/25",
                 "ns1/svc1:p80 172.30.0.41:80/tcp -> rejected, no endpoints",
                 "ns1/svc1:p80 :30001/tcp at 192.168.0.2 -> rejected, no endpoints"});
  }

  void source_ranges_are_shown() {
    IpvsRig rig;
    ServiceSpec with_node = example(2);
    with_node.vips = {"1.2.3.5"};
    with_node.source_ranges = {"203.0.113.0/25", "192.168.0.0/24", "192.168.0.0/16"};
    ServiceSpec everything = example(3);
    everything.vips = {"1.2.3.6"};
    everything.source_ranges = {"0.0.0.0/0"};
    ok(rig, rig.full({balanced(), with_node, everything}));
    std::vector<std::string> ranged;
    for (const std::string& line : rig.inspect()) {
      if (has(line, " 1.2.3.")) ranged.push_back(line);
    }
    const std::string targets = std::string(":80/tcp masqueraded -> ") + kAll + "; only for ";
    CPPUNIT_ASSERT_EQUAL(text({"ns1/svc1:p80 1.2.3.4" + targets + "203.0.113.0/25",
                               "ns1/svc2:p80 1.2.3.5" + targets + "192.168.0.0/16, 192.168.0.0/24, 203.0.113.0/25",
                               "ns1/svc3:p80 1.2.3.6" + targets + "0.0.0.0/0"}),
                         text(ranged));
  }

  void node_ports_are_shown_with_their_addresses() {
    IpvsRig rig;
    rig.node.local_addresses = {"127.0.0.1", "192.168.0.20", "192.168.0.100"};
    ServiceSpec service = example();
    service.node_port = 30001;
    ok(rig, rig.full({service}));
    const std::string begin = "ns1/svc1:p80 :30001/tcp at ";
    const std::string cluster = std::string("ns1/svc1:p80 172.30.0.41:80/tcp -> ") + kAll;
    const std::string rest = std::string(" masqueraded -> ") + kAll;
    expect(rig, {cluster, begin + "192.168.0.100, 192.168.0.20" + rest});
    rig.servers.held.at(rig.key("192.168.0.20", 30001)).real.erase({address("10.180.2.1"), 80});
    expect(rig, {cluster, begin + "192.168.0.20 masqueraded -> 10.180.0.1:80", begin + "192.168.0.100" + rest});
    rig.servers.held.erase(rig.key("192.168.0.20", 30001));
    expect(rig, {cluster, begin + "192.168.0.100" + rest});
    entries(rig, SetId::kNodePortTcp).clear();
    expect(rig, {cluster, begin + "192.168.0.100 -> " + kAll + " (no entry in KUBE-NODE-PORT-TCP)"});
    ok(rig, rig.full({service}));
    for (const char* const ip : {"192.168.0.20", "192.168.0.100"}) rig.servers.held.erase(rig.key(ip, 30001));
    expect(rig, {cluster, begin + "no address -> nowhere (no virtual server)"});
  }

  void sctp_and_ipv6_are_shown() {
    IpvsRig rig(abi::Family::kIpv6);
    ServiceSpec service = example();
    service.protocol = abi::Protocol::kSctp;
    service.cluster_ip = "fd00:30::41";
    service.endpoints = {{"fd00:180::1", 80, true}};
    service.vips = {"2001:db8::4"};
    service.source_ranges = {"2001:db8:113::/49"};
    service.node_port = 30001;
    ok(rig, rig.full({service}));
    expect(rig, {"ns1/svc1:p80 [2001:db8::4]:80/sctp masqueraded -> [fd00:180::1]:80; only for 2001:db8:113::/49",
                 "ns1/svc1:p80 [fd00:30::41]:80/sctp -> [fd00:180::1]:80",
                 "ns1/svc1:p80 :30001/sctp at fd00:9::2 masqueraded -> [fd00:180::1]:80"});
  }

  void one_service_is_shown() {
    IpvsRig rig;
    ServiceSpec other = example();
    other.name = "svc10";
    other.cluster_ip = "172.30.0.99";
    ok(rig, rig.full({example(), other}));
    put_server(rig, rig.key("10.99.0.1", 80));
    const std::uint64_t dumps = rig.servers.real_dumps;
    for (const std::string name : {"ns1/svc1", "ns1/svc1:p80"}) {
      CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc1:p80 172.30.0.41:80/tcp -> ") + kAll + "\n", text(rig.inspect(name)));
    }
    for (const std::string name : {"ns1/svc", "svc1", "ns1/svc1:p8"}) CPPUNIT_ASSERT(rig.inspect(name).empty());
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kOk);
    CPPUNIT_ASSERT_EQUAL(dumps + 2, rig.servers.real_dumps);  // only the requested Service is read
  }

  void every_call_reads_the_kernel() {
    IpvsRig rig;
    ok(rig, rig.full({example()}));
    const std::uint64_t messages = rig.messages();
    const std::uint64_t dumps = rig.servers.server_dumps;
    const std::size_t saves = rig.rules.saves;
    rig.inspect();
    CPPUNIT_ASSERT_EQUAL(dumps + 1, rig.servers.server_dumps);
    CPPUNIT_ASSERT_EQUAL(saves + 1, rig.rules.saves);
    CPPUNIT_ASSERT_EQUAL(messages, rig.messages());  // no writes
  }

  void drift_of_real_servers_is_shown() {
    IpvsRig rig;
    ok(rig, rig.full({example()}));
    const std::string front_text = "ns1/svc1:p80 172.30.0.41:80/tcp -> ";
    auto& real = rig.servers.held.at(rig.key("172.30.0.41", 80)).real;
    real.at({address("10.180.2.1"), 80}).weight = 0;
    expect_first(rig, front_text + "10.180.0.1:80, 10.180.2.1:80 (drains)");
    real.at({address("10.180.0.1"), 80}).weight = 0;
    expect_first(rig, front_text + "rejected, no endpoints (10.180.0.1:80 drains, 10.180.2.1:80 drains)");
    ok(rig, rig.full({example()}));
    auto& repaired = rig.servers.held.at(rig.key("172.30.0.41", 80)).real;
    repaired.at({address("10.180.2.1"), 80}).masquerades = false;
    expect_first(rig, front_text + "10.180.0.1:80, 10.180.2.1:80 (its forwarding method is not NAT)");
    repaired.erase({address("10.180.2.1"), 80});
    expect_first(rig, front_text + "10.180.0.1:80");
    repaired.clear();
    expect_first(rig, front_text + "rejected, no endpoints");
  }

  void drift_of_virtual_servers_and_addresses_is_shown() {
    IpvsRig rig;
    ok(rig, rig.full({example()}));
    const std::string front_text = "ns1/svc1:p80 172.30.0.41:80/tcp";
    rig.links.links.at("kube-ipvs0").addresses.at(kFamily).erase(address("172.30.0.41"));
    expect_first(rig, front_text + " -> " + kAll + " (not an address of kube-ipvs0)");
    rig.links.links.clear();
    expect_first(rig, front_text + " -> " + kAll + " (not an address of kube-ipvs0)");
    ok(rig, rig.full({example()}));
    auto& attributes = rig.servers.held.at(rig.key("172.30.0.41", 80)).attributes;
    attributes.flags |= ipvs::kPersistent;
    attributes.persistence_seconds = 77;
    expect_first(rig, front_text + " sticky for 77 s -> " + kAll);
    rig.servers.held.clear();
    expect_first(rig, front_text + " -> nowhere (no virtual server)");
    entries(rig, SetId::kClusterIp).clear();
    CPPUNIT_ASSERT(rig.inspect("ns1/svc1").empty());
  }

  void drift_of_sets_is_shown() {
    IpvsRig rig;
    ServiceSpec service = example();
    service.external_ips = {"192.0.2.10"};
    ok(rig, rig.full({service}));
    entries(rig, SetId::kClusterIp).clear();
    const std::string cluster = "ns1/svc1:p80 172.30.0.41:80/tcp -> ";
    expect_first(rig, cluster + "rejected (no entry in KUBE-CLUSTER-IP)");
    // No rule rejects packets to an address that is missing in the set of kube-ipvs0.
    entries(rig, SetId::kIpvsAddresses).clear();
    expect_first(rig, cluster + kAll + " (no entry in KUBE-CLUSTER-IP, no entry in KUBE-IPVS-IPS)");
    ok(rig, rig.full({service}));
    entries(rig, SetId::kLoopBack).clear();
    expect_first(rig, cluster + "10.180.0.1:80 (its own connections are not masqueraded), 10.180.2.1:80");
    ok(rig, rig.full({service}));
    rig.sets.sets.erase("KUBE-EXTERNAL-IP");
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc1:p80 192.0.2.10:80/tcp -> rejected (no entry in KUBE-EXTERNAL-IP)"),
                         rig.inspect("ns1/svc1").back());
  }

  void drift_of_rules_is_shown() {
    IpvsRig rig;
    ServiceSpec service = example();
    service.external_ips = {"192.0.2.10"};
    service.vips = {"1.2.3.4"};
    service.node_port = 30001;
    const auto reset = [&] { ok(rig, rig.full({service})); };
    const auto lines = [&] { return rig.inspect("ns1/svc1"); };
    const std::string all = kAll;
    const std::string vip = "ns1/svc1:p80 1.2.3.4:80/tcp -> " + all;
    const std::string cluster = "ns1/svc1:p80 172.30.0.41:80/tcp -> ";
    const std::string external = "ns1/svc1:p80 192.0.2.10:80/tcp -> ";
    const std::string node_port = "ns1/svc1:p80 :30001/tcp at 192.168.0.2 -> " + all;
    reset();
    rig.rules.tables.at("nat").at("KUBE-MARK-MASQ").clear();
    const std::string unmarked = " (KUBE-MARK-MASQ lacks a rule)";
    CPPUNIT_ASSERT_EQUAL(text({vip + unmarked, cluster + all, external + all + unmarked, node_port + unmarked}),
                         text(lines()));
    reset();
    erase(rig, "nat", "KUBE-SERVICES", "KUBE-EXTERNAL-IP dst,dst -j KUBE-MARK-MASQ");
    CPPUNIT_ASSERT_EQUAL(external + all + " (KUBE-SERVICES has no rule for KUBE-EXTERNAL-IP)", lines().at(2));
    reset();
    erase(rig, "nat", "KUBE-LOAD-BALANCER", "-j KUBE-MARK-MASQ");
    CPPUNIT_ASSERT_EQUAL(vip + " (KUBE-LOAD-BALANCER lacks a rule)", lines().front());
    reset();
    erase(rig, "nat", "KUBE-NODE-PORT", "KUBE-NODE-PORT-TCP");
    CPPUNIT_ASSERT_EQUAL(node_port + " (KUBE-NODE-PORT has no rule for KUBE-NODE-PORT-TCP)", lines().back());
    reset();
    erase(rig, "nat", "PREROUTING", "KUBE-SERVICES");
    CPPUNIT_ASSERT_EQUAL(vip + " (PREROUTING does not lead to KUBE-SERVICES)", lines().front());
    reset();
    erase(rig, "filter", "KUBE-IPVS-FILTER", "KUBE-CLUSTER-IP");
    CPPUNIT_ASSERT_EQUAL(cluster + "rejected", lines().at(1));
    erase(rig, "filter", "INPUT", "KUBE-IPVS-FILTER");
    CPPUNIT_ASSERT_EQUAL(cluster + all, lines().at(1));
  }

  void drift_of_source_ranges_is_shown() {
    IpvsRig rig;
    const auto reset = [&] { ok(rig, rig.full({balanced()})); };
    const std::string begin = std::string("ns1/svc1:p80 1.2.3.4:80/tcp masqueraded -> ") + kAll;
    reset();
    erase(rig, "filter", "KUBE-SOURCE-RANGES-FIREWALL", "-j DROP");
    expect_first(rig, begin + "; only for 203.0.113.0/25 (KUBE-SOURCE-RANGES-FIREWALL does not drop other sources)");
    reset();
    rig.rules.tables.at("filter").at("KUBE-IPVS-OUT-FILTER").clear();
    expect_first(rig, begin + "; only for 203.0.113.0/25 (processes of this node are not dropped)");
    reset();
    erase(rig, "filter", "KUBE-PROXY-FIREWALL", "KUBE-LOAD-BALANCER-FW");
    erase(rig, "filter", "FORWARD", "KUBE-PROXY-FIREWALL");
    expect_first(rig, begin +
                          "; only for 203.0.113.0/25 (KUBE-PROXY-FIREWALL has no rule for KUBE-LOAD-BALANCER-FW, "
                          "FORWARD does not lead to KUBE-PROXY-FIREWALL)");
    reset();
    entries(rig, SetId::kLoadBalancerSourceCidr).clear();
    expect_first(rig, begin + "; only for no source");
    entries(rig, SetId::kLoadBalancerFirewall).clear();
    expect_first(rig, begin + " (no entry in KUBE-LOAD-BALANCER-FW)");
  }

  void objects_that_no_service_wants_come_last() {
    IpvsRig rig;
    ServiceSpec service = example();
    service.node_port = 30001;
    ok(rig, rig.full({service}));
    put_server(rig, rig.key("10.99.0.1", 80));
    put_server(rig, rig.key("192.168.0.2", 30002));
    SetEntry port;
    port.port = 30002;
    entries(rig, SetId::kNodePortTcp).insert(port);
    entries(rig, SetId::kClusterIp).insert(front("172.30.0.99"));
    rig.links.links.at("kube-ipvs0").addresses.at(kFamily).insert(address("10.99.0.2"));
    rig.rules.foreign(
        "*nat\n-A KUBE-SERVICES -p tcp -j ACCEPT\nCOMMIT\n*filter\n-A KUBE-IPVS-OUT-FILTER -s 1.2.3.9 -m ipvs "
        "--vaddr 1.2.3.9 --vproto tcp --vport 80 -j DROP\nCOMMIT\n");
    const std::string begin = "not wanted by any Service: ";
    expect(rig,
           {std::string("ns1/svc1:p80 172.30.0.41:80/tcp -> ") + kAll,
            std::string("ns1/svc1:p80 :30001/tcp at 192.168.0.2 masqueraded -> ") + kAll,
            begin + "10.99.0.1:80/tcp -> 10.77.0.1:8080 (not an address of kube-ipvs0)",
            begin + ":30002/tcp at 192.168.0.2 masqueraded -> 10.77.0.1:8080",
            begin + "entry 172.30.0.99,tcp:80 of KUBE-CLUSTER-IP", begin + "entry 30002 of KUBE-NODE-PORT-TCP",
            begin + "address 10.99.0.2 of kube-ipvs0", begin + "rule nat -A KUBE-SERVICES -p tcp -j ACCEPT",
            begin + "rule filter -A KUBE-IPVS-OUT-FILTER -s 1.2.3.9 -m ipvs --vaddr 1.2.3.9 --vproto tcp --vport 80 "
                    "-j DROP"});
  }

  void before_the_first_apply_the_call_returns_retry() {
    IpvsRig rig;
    CPPUNIT_ASSERT(rig.inspect().empty());
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(std::string("no Services applied yet: the daemon is still waiting for Services"),
                         std::string(rig.error.message));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.servers.dumps());
  }

  void a_listing_that_fails_is_an_error() {
    IpvsRig rig;
    ok(rig, rig.full({example(), example(2)}));
    // The dump of virtual servers, then that of the real servers of the second one.
    for (const long left : {0L, 2L}) {
      rig.servers.dumps_left = left;
      CPPUNIT_ASSERT(rig.inspect().empty());
      CPPUNIT_ASSERT(rig.inspected == abi::Code::kRetry);
      CPPUNIT_ASSERT(has(rig.error.message, "a dump was broken"));
    }
    rig.sets.fail_call = "entries";
    CPPUNIT_ASSERT(rig.inspect().empty() && rig.inspected == abi::Code::kRetry);
    rig.rules.cut_save = true;
    CPPUNIT_ASSERT(rig.inspect().empty() && rig.inspected == abi::Code::kKernel);
    CPPUNIT_ASSERT_EQUAL(std::string("read the rules: the output of /usr/sbin/iptables-nft-save is truncated"),
                         std::string(rig.error.message));
  }

  // The call does not hide a foreign change from verify().
  void verify_works_as_before_after_a_call() {
    IpvsRig rig;
    ok(rig, rig.full({example()}));
    ok(rig, rig.verify());
    const std::size_t saves = rig.rules.saves;
    rig.inspect();
    ok(rig, rig.verify());
    CPPUNIT_ASSERT_EQUAL(saves + 1, rig.rules.saves);  // verify() does not list again
    rig.rules.foreign("*nat\n-F KUBE-SERVICES\nCOMMIT\n");
    rig.inspect();
    rig.host.clock += 3'600'000'000'000;
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsInspectionTest);

}  // namespace inspection_test
}  // namespace sluice::test
