// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lines of `sluicectl services` from the rules of the kernel.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "test/unit/common/inspection_examples.hpp"
#include "test/unit/iptables/backend_rig.hpp"

namespace sluice::test {
namespace inspection_test {

constexpr std::string_view kNotWanted = "not wanted by any Service: ";

class IptablesInspectionTest : public CppUnit::TestFixture, private InspectionExamples {
  CPPUNIT_TEST_SUITE(IptablesInspectionTest);
  CPPUNIT_TEST(frontends_are_shown_with_their_endpoints);
  CPPUNIT_TEST(policy_local_is_shown);
  CPPUNIT_TEST(refusals_are_shown);
  CPPUNIT_TEST(source_ranges_are_shown_without_the_address_of_the_node);
  CPPUNIT_TEST(node_ports_are_shown_with_their_addresses);
  CPPUNIT_TEST(a_node_port_with_a_counter_is_one_line);
  CPPUNIT_TEST(a_big_cluster_has_no_comments_and_the_same_lines);
  CPPUNIT_TEST(ipv6_is_shown);
  CPPUNIT_TEST(one_service_is_shown);
  CPPUNIT_TEST(every_call_reads_the_kernel);
  CPPUNIT_TEST(drift_of_endpoints_is_shown);
  CPPUNIT_TEST(drift_of_affinity_is_shown);
  CPPUNIT_TEST(drift_of_external_traffic_is_shown);
  CPPUNIT_TEST(drift_of_jumps_is_shown);
  CPPUNIT_TEST(unneeded_objects_come_last);
  CPPUNIT_TEST(a_frontend_of_two_services_is_shown_for_both);
  CPPUNIT_TEST(names_are_known_after_a_failed_apply);
  CPPUNIT_TEST(call_before_the_first_apply_is_a_retry);
  CPPUNIT_TEST(truncated_listing_is_an_error);
  CPPUNIT_TEST(inspection_does_not_affect_verify);
  CPPUNIT_TEST_SUITE_END();

  // The name of a chain of example(), by its prefix.
  static std::string chain(const IptablesRig& rig, const std::string& prefix) {
    for (const auto& [name, rules] : rig.kernel.tables.at("nat")) {
      if (name.starts_with(prefix)) return name;
    }
    throw std::logic_error("no chain " + prefix);
  }
  static std::string endpoint(const IptablesRig& rig, const std::string& host_port) {
    for (const auto& [name, rules] : rig.kernel.tables.at("nat")) {
      for (const std::string& rule : rules) {
        if (rule.ends_with("--to-destination " + host_port)) return name;
      }
    }
    throw std::logic_error("no endpoint " + host_port);
  }
  static void erase(IptablesRig& rig, const std::string& table, const std::string& chain, const std::string& part) {
    erase_rules(rig.kernel, table, chain, part);
  }
  static void expect(IptablesRig& rig, const std::vector<std::string>& lines) {
    CPPUNIT_ASSERT_EQUAL(text(lines), text(rig.inspect()));
  }

  void frontends_are_shown_with_their_endpoints() {
    IptablesRig rig;
    ServiceSpec service = example();
    service.external_ips = {"192.0.2.10"};
    service.vips = {"1.2.3.4"};
    service.node_port = 30001;
    ServiceSpec sticky = example(2);
    sticky.affinity_seconds = 60;
    sticky.protocol = abi::Protocol::kUdp;
    ServiceSpec unnamed = example(3);
    unnamed.port_name = "";
    CPPUNIT_ASSERT(rig.full({sticky, service, unnamed}) == abi::Code::kOk);
    expect(rig, {"ns1/svc1:p80 1.2.3.4:80/tcp masqueraded -> 10.180.0.1:80, 10.180.2.1:80",
                   "ns1/svc1:p80 172.30.0.41:80/tcp -> 10.180.0.1:80, 10.180.2.1:80",
                   "ns1/svc1:p80 192.0.2.10:80/tcp masqueraded -> 10.180.0.1:80, 10.180.2.1:80",
                   "ns1/svc1:p80 :30001/tcp at every address of this node masqueraded -> 10.180.0.1:80, 10.180.2.1:80",
                   "ns1/svc2:p80 172.30.0.42:80/udp sticky for 60 s -> 10.180.0.1:80, 10.180.2.1:80",
                   "ns1/svc3 172.30.0.43:80/tcp -> 10.180.0.1:80, 10.180.2.1:80"});
    CPPUNIT_ASSERT(rig.inspect() == rig.inspect_lines());
  }

  void policy_local_is_shown() {
    IptablesRig rig;
    ServiceSpec local = example();
    local.node_port = 30001;
    local.external_local = true;
    ServiceSpec remote = example(2);
    remote.endpoints.pop_back();
    remote.vips = {"1.2.3.4"};
    remote.external_local = true;
    remote.affinity_seconds = 60;
    ServiceSpec internal = example(3);
    internal.internal_local = true;
    CPPUNIT_ASSERT(rig.full({local, remote, internal}) == abi::Code::kOk);
    expect(rig, {"ns1/svc1:p80 172.30.0.41:80/tcp -> 10.180.0.1:80, 10.180.2.1:80",
                   "ns1/svc1:p80 :30001/tcp at every address of this node -> 10.180.0.1:80; from this node -> "
                   "10.180.0.1:80, 10.180.2.1:80",
                   "ns1/svc2:p80 1.2.3.4:80/tcp sticky for 60 s from this node -> 10.180.2.1:80; else dropped, no "
                   "endpoints on this node",
                   "ns1/svc2:p80 172.30.0.42:80/tcp sticky for 60 s -> 10.180.2.1:80",
                   "ns1/svc3:p80 172.30.0.43:80/tcp -> 10.180.0.1:80"});
  }

  void refusals_are_shown() {
    IptablesRig rig;
    ServiceSpec empty = example();
    empty.endpoints.clear();
    empty.external_ips = {"192.0.2.10"};
    empty.node_port = 30001;
    ServiceSpec elsewhere = example(2);
    elsewhere.internal_local = true;
    elsewhere.endpoints.pop_back();
    CPPUNIT_ASSERT(rig.full({empty, elsewhere}) == abi::Code::kOk);
    expect(rig, {"ns1/svc1:p80 172.30.0.41:80/tcp -> rejected, no endpoints",
                   "ns1/svc1:p80 192.0.2.10:80/tcp -> rejected, no endpoints",
                   "ns1/svc1:p80 :30001/tcp at every address of this node -> rejected, no endpoints",
                   "ns1/svc2:p80 172.30.0.42:80/tcp -> dropped, no endpoints on this node"});
  }

  void source_ranges_are_shown_without_the_address_of_the_node() {
    IptablesRig rig;
    ServiceSpec service = balanced();
    ServiceSpec with_node = example(2);
    with_node.vips = {"1.2.3.5", "1.2.3.6"};
    with_node.source_ranges = {"203.0.113.0/25", "192.168.0.0/24"};
    ServiceSpec itself = example(3);
    itself.vips = {"1.2.3.7"};
    itself.source_ranges = {"203.0.113.0/25", "1.2.3.7/32"};
    CPPUNIT_ASSERT(rig.full({service, with_node, itself}) == abi::Code::kOk);
    std::vector<std::string> ranged;
    for (const std::string& line : rig.inspect()) {
      if (line.find("only for") != std::string::npos) ranged.push_back(line);
    }
    const std::string targets = ":80/tcp masqueraded -> 10.180.0.1:80, 10.180.2.1:80; only for ";
    CPPUNIT_ASSERT_EQUAL(text({"ns1/svc1:p80 1.2.3.4" + targets + "203.0.113.0/25",
                               "ns1/svc2:p80 1.2.3.5" + targets + "203.0.113.0/25, 192.168.0.0/24",
                               "ns1/svc2:p80 1.2.3.6" + targets + "203.0.113.0/25, 192.168.0.0/24",
                               "ns1/svc3:p80 1.2.3.7" + targets + "203.0.113.0/25, 1.2.3.7/32"}),
                         text(ranged));
    erase(rig, "filter", "KUBE-PROXY-FIREWALL", "1.2.3.4");
    const std::string shown = text(rig.inspect("ns1/svc1"));
    CPPUNIT_ASSERT_MESSAGE(
        shown, shown.find("; only for 203.0.113.0/25 (KUBE-PROXY-FIREWALL does not drop other sources)\n") != shown.npos);
  }

  void node_ports_are_shown_with_their_addresses() {
    IptablesRig rig;
    ServiceSpec service = example();
    service.node_port = 30001;
    NodeSpec node;
    node.flags = 0;
    node.node_port_addresses = {"192.168.0.20", "192.168.0.100"};
    CPPUNIT_ASSERT(rig.full({service}, node) == abi::Code::kOk);
    const std::string rest = " masqueraded -> 10.180.0.1:80, 10.180.2.1:80\n";
    const auto node_port = [&] { return rig.inspect().back() + "\n"; };
    CPPUNIT_ASSERT_EQUAL("ns1/svc1:p80 :30001/tcp at 192.168.0.100, 192.168.0.20" + rest, node_port());
    erase(rig, "nat", "KUBE-SERVICES", "192.168.0.100");
    CPPUNIT_ASSERT_EQUAL("ns1/svc1:p80 :30001/tcp at 192.168.0.20" + rest, node_port());
    erase(rig, "nat", "KUBE-SERVICES", "192.168.0.20");
    CPPUNIT_ASSERT_EQUAL("ns1/svc1:p80 :30001/tcp at no address" + rest, node_port());
  }

  // Packets to 127.0.0.0/8 have a separate rule with a counter.
  void a_node_port_with_a_counter_is_one_line() {
    IptablesRig rig;
    rig.kernel.counter_error = 0;
    ServiceSpec service = example();
    service.node_port = 30001;
    CPPUNIT_ASSERT(rig.full({service}) == abi::Code::kOk);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.kernel.rules("nat", "KUBE-NODEPORTS").size());
    const std::string rest = " masqueraded -> 10.180.0.1:80, 10.180.2.1:80";
    const std::string first = "ns1/svc1:p80 172.30.0.41:80/tcp -> 10.180.0.1:80, 10.180.2.1:80";
    expect(rig, {first, "ns1/svc1:p80 :30001/tcp at every address of this node" + rest});
    rig.kernel.tables.at("nat").at("KUBE-NODEPORTS").pop_back();
    expect(rig, {first, "ns1/svc1:p80 :30001/tcp at 127.0.0.0/8" + rest});
  }

  void a_big_cluster_has_no_comments_and_the_same_lines() {
    IptablesRig rig;
    std::vector<ServiceSpec> services = many_services(101, 10);
    services.front().affinity_seconds = 60;
    CPPUNIT_ASSERT(rig.full(services) == abi::Code::kOk);
    const std::vector<std::string> lines = rig.inspect();
    CPPUNIT_ASSERT_EQUAL(std::size_t{101}, lines.size());
    for (const std::string& line : lines) {
      CPPUNIT_ASSERT_MESSAGE(line, std::count(line.begin(), line.end(), ',') == 9 && line.find('(') == line.npos);
    }
  }

  void ipv6_is_shown() {
    IptablesRig rig(abi::Family::kIpv6);
    ServiceSpec service = example();
    service.cluster_ip = "fd00:30::41";
    service.endpoints = {{"fd00:180::1", 80, true}};
    service.vips = {"2001:db8::4"};
    service.source_ranges = {"2001:db8:113::/49"};
    service.node_port = 30001;
    NodeSpec node;
    node.ip = "fd00:9::2";
    node.detector_cidr = "fd00:2::/64";
    CPPUNIT_ASSERT(rig.full({service}, node) == abi::Code::kOk);
    expect(rig, {"ns1/svc1:p80 [2001:db8::4]:80/tcp masqueraded -> [fd00:180::1]:80; only for 2001:db8:113::/49",
                   "ns1/svc1:p80 [fd00:30::41]:80/tcp -> [fd00:180::1]:80",
                   "ns1/svc1:p80 :30001/tcp at every address of this node masqueraded -> [fd00:180::1]:80"});
  }

  void one_service_is_shown() {
    IptablesRig rig;
    ServiceSpec other = example();
    other.name = "svc10";
    other.cluster_ip = "172.30.0.99";
    CPPUNIT_ASSERT(rig.full({example(), other}) == abi::Code::kOk);
    rig.kernel.foreign("*nat\n-A KUBE-SERVICES -p tcp -j ACCEPT\nCOMMIT\n");
    for (const std::string name : {"ns1/svc1", "ns1/svc1:p80"}) {
      CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc1:p80 172.30.0.41:80/tcp -> 10.180.0.1:80, 10.180.2.1:80\n"),
                           text(rig.inspect(name)));
    }
    for (const std::string name : {"ns1/svc", "svc1", "ns1/svc1:p8"}) CPPUNIT_ASSERT(rig.inspect(name).empty());
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kOk);
  }

  void every_call_reads_the_kernel() {
    IptablesRig rig;
    CPPUNIT_ASSERT(rig.full({example()}) == abi::Code::kOk);
    const std::size_t saves = rig.kernel.saves;
    const std::size_t restores = rig.kernel.restores.size();
    rig.inspect();
    CPPUNIT_ASSERT_EQUAL(saves + 1, rig.kernel.saves);
    CPPUNIT_ASSERT_EQUAL(restores, rig.kernel.restores.size());
    erase(rig, "nat", "KUBE-SERVICES", "172.30.0.41");
    const std::string shown = text(rig.inspect());
    CPPUNIT_ASSERT_MESSAGE(shown, shown.find("172.30.0.41") == std::string::npos);
  }

  void drift_of_endpoints_is_shown() {
    IptablesRig rig;
    ServiceSpec service = example();
    service.endpoints.push_back({"10.180.3.1", 80, false});
    const auto line = [&] { return rig.inspect("ns1/svc1").front(); };
    const std::string front = "ns1/svc1:p80 172.30.0.41:80/tcp -> ";
    const auto reset = [&] { CPPUNIT_ASSERT(rig.full({service}) == abi::Code::kOk); };
    reset();
    const std::string balancing = chain(rig, "KUBE-SVC-");
    const std::string first = endpoint(rig, "10.180.0.1:80");
    const std::string second = endpoint(rig, "10.180.2.1:80");
    const std::string third = endpoint(rig, "10.180.3.1:80");
    auto& nat = rig.kernel.tables.at("nat");

    nat[first].pop_back();
    CPPUNIT_ASSERT_EQUAL(front + "10.180.2.1:80, 10.180.3.1:80, " + first + " (no DNAT rule)", line());
    nat[first].clear();
    CPPUNIT_ASSERT_EQUAL(front + "10.180.2.1:80, 10.180.3.1:80, " + first + " (chain is empty)", line());
    nat.erase(first);
    CPPUNIT_ASSERT_EQUAL(front + "10.180.2.1:80, 10.180.3.1:80, " + first + " (chain is missing)", line());
    reset();
    erase(rig, "nat", first, "-s 10.180.0.1");
    CPPUNIT_ASSERT_EQUAL(
        front + "10.180.0.1:80 (its own connections are not masqueraded), 10.180.2.1:80, 10.180.3.1:80", line());
    reset();
    erase(rig, "nat", balancing, third);
    CPPUNIT_ASSERT_EQUAL(front + "10.180.0.1:80, 10.180.2.1:80 (33 % of connections reach no endpoint)", line());
    reset();
    erase(rig, "nat", balancing, second);
    CPPUNIT_ASSERT_EQUAL(front + "10.180.0.1:80 (33 % of connections), 10.180.3.1:80 (67 % of connections)", line());
    reset();
    erase(rig, "nat", balancing, "KUBE-MARK-MASQ");
    CPPUNIT_ASSERT_EQUAL(
        front + "10.180.0.1:80, 10.180.2.1:80, 10.180.3.1:80 (clients outside of the cluster are not masqueraded)",
        line());
    erase(rig, "nat", balancing, "KUBE-SEP-");
    CPPUNIT_ASSERT_EQUAL(front + "nowhere (chain " + balancing + " is empty)", line());
    nat.erase(balancing);
    CPPUNIT_ASSERT_EQUAL(front + "nowhere (chain " + balancing + " is missing)", line());
  }

  void drift_of_affinity_is_shown() {
    IptablesRig rig;
    ServiceSpec service = example();
    service.affinity_seconds = 60;
    CPPUNIT_ASSERT(rig.full({service}) == abi::Code::kOk);
    const std::string first = endpoint(rig, "10.180.0.1:80");
    const std::string second = endpoint(rig, "10.180.2.1:80");
    erase(rig, "nat", chain(rig, "KUBE-SVC-"), "--rcheck --seconds 60 --reap -j " + first);
    auto& rules = rig.kernel.tables.at("nat").at(second);
    for (std::string& rule : rules) {
      const std::string part = "-m recent --name " + second + " --set ";
      if (const auto at = rule.find(part); at != rule.npos) rule.erase(at, part.size());
    }
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc1:p80 172.30.0.41:80/tcp sticky for 60 s -> 10.180.0.1:80 (not sticky), "
                                     "10.180.2.1:80 (clients are not remembered)"),
                         rig.inspect("ns1/svc1").front());
  }

  void drift_of_external_traffic_is_shown() {
    IptablesRig rig;
    ServiceSpec service = balanced();
    service.external_local = true;
    const auto reset = [&] { CPPUNIT_ASSERT(rig.full({service}) == abi::Code::kOk); };
    const auto line = [&] { return rig.inspect("ns1/svc1").front(); };
    reset();
    const std::string external = chain(rig, "KUBE-EXT-");
    const std::string firewall = chain(rig, "KUBE-FW-");
    const std::string front = "ns1/svc1:p80 1.2.3.4:80/tcp";
    const std::string all = "10.180.0.1:80, 10.180.2.1:80";
    CPPUNIT_ASSERT_EQUAL(front + " -> 10.180.0.1:80; from this node -> " + all + "; only for 203.0.113.0/25", line());
    erase(rig, "nat", external, "-j KUBE-SVL-");
    CPPUNIT_ASSERT_EQUAL(front + " from this node -> " + all + "; else nowhere (chain " + external +
                             " has no rule for other clients); only for 203.0.113.0/25",
                         line());
    erase(rig, "nat", external, "pod traffic");
    erase(rig, "nat", external, "masquerade LOCAL");
    CPPUNIT_ASSERT_EQUAL(front + " from this node -> " + all +
                             " (not for pods of this node, processes of this node are not masqueraded); else nowhere "
                             "(chain " +
                             external + " has no rule for other clients); only for 203.0.113.0/25",
                         line());
    rig.kernel.tables.at("nat").at(external).clear();
    CPPUNIT_ASSERT_EQUAL(front + " -> nowhere (chain " + external + " is empty); only for 203.0.113.0/25", line());
    rig.kernel.tables.at("nat").at(firewall).clear();
    CPPUNIT_ASSERT_EQUAL(front + " -> nowhere (chain " + firewall + " is empty)", line());
    reset();
    erase(rig, "nat", "KUBE-SERVICES", "1.2.3.4");
    CPPUNIT_ASSERT_EQUAL(front + " -> dropped (no rule of KUBE-SERVICES, one of KUBE-PROXY-FIREWALL)", line());
  }

  void drift_of_jumps_is_shown() {
    IptablesRig rig;
    ServiceSpec service = balanced();
    ServiceSpec empty = example(2);
    empty.endpoints.clear();
    CPPUNIT_ASSERT(rig.full({service, empty}) == abi::Code::kOk);
    auto& tables = rig.kernel.tables;
    erase(rig, "nat", "PREROUTING", "KUBE-SERVICES");
    erase(rig, "filter", "OUTPUT", "KUBE-SERVICES");
    erase(rig, "filter", "INPUT", "KUBE-PROXY-FIREWALL");
    tables.at("nat").at("KUBE-MARK-MASQ").clear();
    tables.at("nat").at("KUBE-POSTROUTING").clear();
    expect(rig,
           {"ns1/svc1:p80 1.2.3.4:80/tcp masqueraded -> 10.180.0.1:80, 10.180.2.1:80 (PREROUTING does not lead to "
            "KUBE-SERVICES, KUBE-MARK-MASQ marks no packets, KUBE-POSTROUTING masquerades no packets); only for "
            "203.0.113.0/25 (INPUT does not lead to KUBE-PROXY-FIREWALL)",
            "ns1/svc1:p80 172.30.0.41:80/tcp -> 10.180.0.1:80, 10.180.2.1:80 (PREROUTING does not lead to "
            "KUBE-SERVICES, KUBE-MARK-MASQ marks no packets, KUBE-POSTROUTING masquerades no packets)",
            "ns1/svc2:p80 172.30.0.42:80/tcp -> rejected, no endpoints (OUTPUT does not lead to KUBE-SERVICES)"});
  }

  void unneeded_objects_come_last() {
    IptablesRig rig;
    CPPUNIT_ASSERT(rig.full({balanced()}) == abi::Code::kOk);
    const std::string cluster = chain(rig, "KUBE-SVC-");
    rig.kernel.foreign(
        "*filter\n"
        "-A KUBE-SERVICES -m comment --comment \"a/b:c has no endpoints\" -d 172.30.0.99 -p tcp -m tcp --dport 81 -j "
        "REJECT\n"
        "-A KUBE-NODEPORTS -m comment --comment \"a/b:c health check node port\" -m tcp -p tcp --dport 31000 -j "
        "ACCEPT\n"
        "-A KUBE-PROXY-FIREWALL -p tcp -d 172.30.0.41 -m tcp --dport 80 -j DROP\n"
        "COMMIT\n"
        "*nat\n:KUBE-SVC-AAAAAAAAAAAAAAAA - [0:0]\n:KUBE-SEP-BBBBBBBBBBBBBBBB - [0:0]\n:KUBE-SVL-CCCCCCCCCCCCCCCC - "
        "[0:0]\n"
        "-A KUBE-SERVICES -d 172.30.0.99 -p tcp -m tcp --dport 80 -j KUBE-SVC-AAAAAAAAAAAAAAAA\n"
        "-A KUBE-SVC-AAAAAAAAAAAAAAAA -j KUBE-SEP-BBBBBBBBBBBBBBBB\n"
        "-A KUBE-SEP-BBBBBBBBBBBBBBBB -s 10.180.9.1 -j KUBE-MARK-MASQ\n"
        "-A KUBE-SEP-BBBBBBBBBBBBBBBB -p tcp -m tcp -j DNAT --to-destination 10.180.9.1:80\n"
        "-A KUBE-SERVICES -m mark --mark 0x1 -j RETURN\n-A " +
        cluster + " -s 10.0.0.9 -j RETURN\nCOMMIT\n");
    const std::vector<std::string> lines = rig.inspect();
    CPPUNIT_ASSERT(lines.size() > 2);
    std::vector<std::string> last(lines.begin() + 2, lines.end());
    const std::string front(kNotWanted);
    CPPUNIT_ASSERT_EQUAL(
        text({front + "rule of KUBE-PROXY-FIREWALL that drops 172.30.0.41:80/tcp",
              front + "172.30.0.99:80/tcp -> 10.180.9.1:80 (clients outside of the cluster are not masqueraded)",
              front + "172.30.0.99:81/tcp -> rejected, no endpoints",
              front + "chain KUBE-SVL-CCCCCCCCCCCCCCCC (no rule leads to it)",
              front + "health check node port 31000 of a/b:c",
              front + "rule nat -A KUBE-SERVICES -m mark --mark 0x1 -j RETURN",
              front + "rule nat -A " + cluster + " -s 10.0.0.9 -j RETURN"}),
        text(last));
    // Chains that are no longer reached do not belong to a line.
    erase(rig, "nat", "KUBE-SERVICES", "172.30.0.41");
    const std::string shown = text(rig.inspect());
    CPPUNIT_ASSERT_MESSAGE(shown, shown.find(front + "chain KUBE-SVC-") == shown.npos);  // KUBE-EXT- jumps to it
    erase(rig, "nat", "KUBE-SERVICES", "1.2.3.4");
    CPPUNIT_ASSERT(text(rig.inspect()).find(front + "chain " + cluster + " (no rule leads to it)\n") !=
                   std::string::npos);
  }

  void a_frontend_of_two_services_is_shown_for_both() {
    IptablesRig rig;
    ServiceSpec one = example();
    ServiceSpec two = example(2);
    one.external_ips = two.external_ips = {"192.0.2.10"};
    CPPUNIT_ASSERT(rig.full({one, two}) == abi::Code::kOk);
    const std::string all = text(rig.inspect());
    std::size_t never = 0;
    for (const std::string& line : rig.inspect()) {
      if (line.find("192.0.2.10:80/tcp") == std::string::npos) continue;
      never += line.ends_with(" (never reached, an earlier rule is for the same address and port)");
    }
    CPPUNIT_ASSERT_EQUAL_MESSAGE(all, std::size_t{1}, never);
  }

  void names_are_known_after_a_failed_apply() {
    IptablesRig rig;
    CPPUNIT_ASSERT(rig.full({example()}) == abi::Code::kOk);
    rig.kernel.fail_next = 4;
    CPPUNIT_ASSERT(rig.full({example(), example(2)}) != abi::Code::kOk);
    expect(rig, {"ns1/svc1:p80 172.30.0.41:80/tcp -> 10.180.0.1:80, 10.180.2.1:80"});
  }

  void call_before_the_first_apply_is_a_retry() {
    IptablesRig rig;
    CPPUNIT_ASSERT(rig.inspect().empty());
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(std::string("no Services applied yet: the daemon is still waiting for Services"),
                         std::string(rig.error.message));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.kernel.saves);
  }

  void truncated_listing_is_an_error() {
    IptablesRig rig;
    CPPUNIT_ASSERT(rig.full({example()}) == abi::Code::kOk);
    rig.kernel.cut_save = true;
    CPPUNIT_ASSERT(rig.inspect().empty());
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kKernel);
    CPPUNIT_ASSERT_EQUAL(std::string("read the rules: the output of /usr/sbin/iptables-nft-save is truncated"),
                         std::string(rig.error.message));
  }

  // The call neither hides a foreign change from verify() nor counts as one.
  void inspection_does_not_affect_verify() {
    IptablesRig rig;
    CPPUNIT_ASSERT(rig.full({example()}) == abi::Code::kOk);
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kOk);
    const std::size_t saves = rig.kernel.saves;
    rig.inspect();
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kOk);
    CPPUNIT_ASSERT_EQUAL(saves + 1, rig.kernel.saves);  // verify() did not have to read
    rig.kernel.foreign("*nat\n-F KUBE-SERVICES\nCOMMIT\n");
    rig.inspect();
    rig.host.clock += 3'600'000'000'000;
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IptablesInspectionTest);

}  // namespace inspection_test
}  // namespace sluice::test
