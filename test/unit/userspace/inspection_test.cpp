// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The description of kernel rules and proxy sockets.
#include <cppunit/extensions/HelperMacros.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "test/unit/common/inspection_examples.hpp"
#include "test/unit/userspace/backend_rig.hpp"

namespace sluice::userspace {
namespace inspection_test {

using test::NodeSpec;
using test::ServiceSpec;
using test::UserspaceRig;

constexpr const char* kAll = "10.180.0.1:80, 10.180.2.1:80";
constexpr const char* kNone = "rejected, no endpoints";

class UserspaceInspectionTest : public test::UserspaceFixture, private test::InspectionExamples {
  CPPUNIT_TEST_SUITE(UserspaceInspectionTest);
  CPPUNIT_TEST(frontends_are_shown_with_their_endpoints);
  CPPUNIT_TEST(policy_local_is_shown);
  CPPUNIT_TEST(services_without_endpoints_are_shown);
  CPPUNIT_TEST(source_ranges_are_shown);
  CPPUNIT_TEST(node_ports_are_shown_with_their_addresses);
  CPPUNIT_TEST(ipv6_is_shown);
  CPPUNIT_TEST(one_service_is_shown);
  CPPUNIT_TEST(endpoints_of_a_delta_are_shown);
  CPPUNIT_TEST(a_socket_that_does_not_listen_is_shown);
  CPPUNIT_TEST(drift_of_rules_is_shown);
  CPPUNIT_TEST(a_jump_with_another_mark_is_not_recognised);
  CPPUNIT_TEST(drift_of_external_traffic_is_shown);
  CPPUNIT_TEST(drift_of_source_ranges_is_shown);
  CPPUNIT_TEST(objects_that_no_service_wants_come_last);
  CPPUNIT_TEST(before_the_first_apply_the_call_asks_for_a_retry);
  CPPUNIT_TEST(a_truncated_listing_is_an_error);
  CPPUNIT_TEST_SUITE_END();

  void full(const std::vector<ServiceSpec>& services, const NodeSpec& node = {}) {
    CPPUNIT_ASSERT(rig().full(services, node) == abi::Code::kOk);
    CPPUNIT_ASSERT(rig().host.failed.empty());
  }
  void expect(const std::vector<std::string>& lines) { CPPUNIT_ASSERT_EQUAL(text(lines), text(rig().inspect())); }
  void expect_first(const std::string& line) { CPPUNIT_ASSERT_EQUAL(line, rig().inspect("ns1/svc1").front()); }
  void erase(const std::string& table, const std::string& chain, const std::string& part) {
    erase_rules(rig().kernel, table, chain, part);
  }
  std::string port() { return "proxy port " + std::to_string(rig().port("ns1/svc1")); }

  void frontends_are_shown_with_their_endpoints() {
    ServiceSpec service = example();
    service.external_ips = {"192.0.2.10"};
    service.vips = {"1.2.3.4"};
    service.node_port = 30001;
    ServiceSpec sticky = example(2);
    sticky.affinity_seconds = 60;
    sticky.protocol = abi::Protocol::kUdp;
    ServiceSpec unnamed = example(3);
    unnamed.port_name = "";
    full({sticky, service, unnamed});
    const std::string all = kAll;
    expect({"ns1/svc1:p80 1.2.3.4:80/tcp masqueraded -> " + all, "ns1/svc1:p80 172.30.0.41:80/tcp -> " + all,
            "ns1/svc1:p80 192.0.2.10:80/tcp masqueraded -> " + all,
            "ns1/svc1:p80 :30001/tcp at every address of this node masqueraded -> " + all,
            "ns1/svc2:p80 172.30.0.42:80/udp sticky for 60 s -> " + all, "ns1/svc3 172.30.0.43:80/tcp -> " + all});
    CPPUNIT_ASSERT(rig().inspect() == rig().inspect_lines());
  }

  void policy_local_is_shown() {
    ServiceSpec local = example();
    local.node_port = 30001;
    local.external_ips = {"192.0.2.10"};
    local.external_local = true;
    ServiceSpec remote = example(2);
    remote.endpoints.pop_back();
    remote.vips = {"1.2.3.4"};
    remote.external_ips = {"192.0.2.11"};
    remote.node_port = 30002;
    remote.external_local = true;
    remote.affinity_seconds = 60;
    ServiceSpec internal = example(3);
    internal.internal_local = true;
    ServiceSpec elsewhere = example(4);
    elsewhere.endpoints.pop_back();
    elsewhere.internal_local = true;
    full({local, remote, internal, elsewhere});
    const std::string all = kAll;
    const std::string inside =
        " sticky for 60 s from this node -> 10.180.2.1:80; else dropped, no endpoints on this node";
    expect({"ns1/svc1:p80 172.30.0.41:80/tcp -> " + all,
            "ns1/svc1:p80 192.0.2.10:80/tcp -> 10.180.0.1:80; from this node -> " + all,
            "ns1/svc1:p80 :30001/tcp at every address of this node -> 10.180.0.1:80; from this node -> " + all,
            "ns1/svc2:p80 1.2.3.4:80/tcp" + inside, "ns1/svc2:p80 172.30.0.42:80/tcp sticky for 60 s -> 10.180.2.1:80",
            "ns1/svc2:p80 192.0.2.11:80/tcp" + inside, "ns1/svc2:p80 :30002/tcp at every address of this node" + inside,
            "ns1/svc3:p80 172.30.0.43:80/tcp -> 10.180.0.1:80",
            "ns1/svc4:p80 172.30.0.44:80/tcp -> dropped, no endpoints on this node"});
  }

  void services_without_endpoints_are_shown() {
    ServiceSpec empty = example();
    empty.endpoints.clear();
    empty.external_ips = {"192.0.2.10"};
    empty.node_port = 30001;
    empty.affinity_seconds = 60;
    ServiceSpec local = example(2);
    local.endpoints.clear();
    local.external_ips = {"192.0.2.11"};
    local.external_local = true;
    ServiceSpec datagrams = example(3);
    datagrams.endpoints.clear();
    datagrams.protocol = abi::Protocol::kUdp;
    full({empty, local, datagrams});
    const std::string none = std::string("-> ") + kNone;
    expect({"ns1/svc1:p80 172.30.0.41:80/tcp " + none, "ns1/svc1:p80 192.0.2.10:80/tcp " + none,
            "ns1/svc1:p80 :30001/tcp at every address of this node " + none, "ns1/svc2:p80 172.30.0.42:80/tcp " + none,
            "ns1/svc2:p80 192.0.2.11:80/tcp " + none, "ns1/svc3:p80 172.30.0.43:80/udp " + none});
    erase("filter", "OUTPUT", "KUBE-PORTALS-FIREWALL");
    expect_first("ns1/svc1:p80 172.30.0.41:80/tcp " + none + " (OUTPUT does not lead to KUBE-PORTALS-FIREWALL)");
    erase("filter", "KUBE-PORTALS-FIREWALL", "172.30.0.41");
    expect_first("ns1/svc1:p80 172.30.0.41:80/tcp -> nowhere (no portal rule)");
  }

  void source_ranges_are_shown() {
    ServiceSpec with_node = example(2);
    with_node.vips = {"1.2.3.5", "1.2.3.6"};
    with_node.source_ranges = {"203.0.113.0/25", "192.168.0.0/24"};
    ServiceSpec local = example(3);
    local.vips = {"1.2.3.7"};
    local.source_ranges = {"203.0.113.0/25", "10.0.0.0/16"};
    local.external_local = true;
    ServiceSpec remote = example(4);
    remote.vips = {"1.2.3.8"};
    remote.source_ranges = {"203.0.113.0/25", "10.0.0.0/16"};
    remote.external_local = true;
    remote.endpoints.pop_back();
    full({balanced(), with_node, local, remote});
    std::vector<std::string> ranged;
    for (const std::string& line : rig().inspect()) {
      if (line.find(" 1.2.3.") != std::string::npos) ranged.push_back(line);
    }
    const std::string targets = std::string(":80/tcp masqueraded -> ") + kAll + "; only for ";
    CPPUNIT_ASSERT_EQUAL(
        text({"ns1/svc1:p80 1.2.3.4" + targets + "203.0.113.0/25",
              "ns1/svc2:p80 1.2.3.5" + targets + "203.0.113.0/25, 192.168.0.0/24",
              "ns1/svc2:p80 1.2.3.6" + targets + "203.0.113.0/25, 192.168.0.0/24",
              std::string("ns1/svc3:p80 1.2.3.7:80/tcp -> 10.180.0.1:80; from this node -> ") + kAll +
                  "; only for 203.0.113.0/25, 10.0.0.0/16",
              "ns1/svc4:p80 1.2.3.8:80/tcp from this node -> 10.180.2.1:80; else dropped, no endpoints on this node; "
              "only for 203.0.113.0/25, 10.0.0.0/16"}),
        text(ranged));
  }

  void node_ports_are_shown_with_their_addresses() {
    ServiceSpec service = example();
    service.node_port = 30001;
    NodeSpec node;
    node.flags = 0;
    node.node_port_addresses = {"192.168.0.20", "192.168.0.100"};
    full({service}, node);
    const std::string front = "ns1/svc1:p80 :30001/tcp at ";
    const std::string rest = std::string(" masqueraded -> ") + kAll;
    const auto node_port = [&] { return rig().inspect().back(); };
    CPPUNIT_ASSERT_EQUAL(front + "192.168.0.100, 192.168.0.20" + rest, node_port());
    erase("nat", "PREROUTING", "192.168.0.100");
    CPPUNIT_ASSERT_EQUAL(front + "192.168.0.20" + rest + " (for processes of this node at 192.168.0.100, 192.168.0.20)",
                         node_port());
    erase("nat", "PREROUTING", "192.168.0.20");
    erase("nat", "OUTPUT", "192.168.0.");
    CPPUNIT_ASSERT_EQUAL(front + "no address" + rest, node_port());
  }

  void ipv6_is_shown() {
    if (!test::has_ipv6()) return;
    rig_ = std::make_unique<UserspaceRig>(abi::Family::kIpv6);
    ServiceSpec service = example();
    service.cluster_ip = "fd00:30::41";
    service.endpoints = {{"fd00:180::1", 80, true}};
    service.vips = {"2001:db8::4"};
    service.source_ranges = {"2001:db8:113::/49"};
    service.node_port = 30001;
    NodeSpec node;
    node.ip = "fd00:9::2";
    node.detector_cidr = "fd00:2::/64";
    full({service}, node);
    expect({"ns1/svc1:p80 [2001:db8::4]:80/tcp masqueraded -> [fd00:180::1]:80; only for 2001:db8:113::/49",
            "ns1/svc1:p80 [fd00:30::41]:80/tcp -> [fd00:180::1]:80",
            "ns1/svc1:p80 :30001/tcp at every address of this node masqueraded -> [fd00:180::1]:80"});
  }

  void one_service_is_shown() {
    ServiceSpec other = example();
    other.name = "svc10";
    other.cluster_ip = "172.30.0.99";
    full({example(), other});
    rig().kernel.foreign("*nat\n-A KUBE-PORTALS-HOST -p tcp -j ACCEPT\nCOMMIT\n");
    for (const std::string name : {"ns1/svc1", "ns1/svc1:p80"}) {
      CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc1:p80 172.30.0.41:80/tcp -> ") + kAll + "\n", text(rig().inspect(name)));
    }
    for (const std::string name : {"ns1/svc", "svc1", "ns1/svc1:p8"}) CPPUNIT_ASSERT(rig().inspect(name).empty());
    CPPUNIT_ASSERT(rig().inspected == abi::Code::kOk);
  }

  void endpoints_of_a_delta_are_shown() {
    full({example()});
    ServiceSpec less = example();
    less.endpoints.pop_back();
    const std::size_t saves = rig().kernel.saves;
    CPPUNIT_ASSERT(rig().delta({less}) == abi::Code::kOk);
    expect({"ns1/svc1:p80 172.30.0.41:80/tcp -> 10.180.2.1:80"});
    CPPUNIT_ASSERT_EQUAL(saves + 1, rig().kernel.saves);
    CPPUNIT_ASSERT(rig().kernel.restores.empty());
  }

  void a_socket_that_does_not_listen_is_shown() {
    full({example()});
    CPPUNIT_ASSERT_EQUAL(0, shutdown(test::listener_at(rig().port("ns1/svc1")), SHUT_RDWR));
    expect({std::string("ns1/svc1:p80 172.30.0.41:80/tcp -> ") + kAll + " (" + port() + " does not listen)"});
  }

  void drift_of_rules_is_shown() {
    full({example()});
    const std::string front = "ns1/svc1:p80 172.30.0.41:80/tcp -> ";
    const std::string proxy_port = port();
    erase("nat", "OUTPUT", "KUBE-PORTALS-HOST");
    expect_first(front + kAll + " (OUTPUT does not lead to KUBE-PORTALS-HOST)");
    full({example()});
    erase("nat", "KUBE-PORTALS-HOST", "172.30.0.41");
    expect_first(front + kAll + " (not for processes of this node)");
    full({example()});
    erase("nat", "KUBE-PORTALS-CONTAINER", "172.30.0.41");
    expect_first(front + kAll + " (not for clients that arrive from elsewhere)");
    erase("nat", "KUBE-PORTALS-HOST", "172.30.0.41");
    expect_first(front + "nowhere (no portal rule, " + proxy_port + " listens)");
    // A rule that redirects to a port without listener.
    rig().kernel.foreign(
        "*nat\n-A KUBE-PORTALS-CONTAINER -m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 80 -d 172.30.0.41/32 "
        "-j "
        "REDIRECT --to-ports 9\n-A KUBE-PORTALS-HOST -m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 80 -d "
        "172.30.0.41/32 -j DNAT --to-destination 127.0.0.1:9\nCOMMIT\n");
    expect_first(front + "nowhere (proxy port 9 is not open)");
  }

  void a_jump_with_another_mark_is_not_recognised() {
    full({example()});
    const std::string line = std::string("ns1/svc1:p80 172.30.0.41:80/tcp -> ") + kAll;
    expect_first(line);
    auto& rules = rig().kernel.tables.at("nat").at("OUTPUT");
    const auto jump = std::find_if(rules.begin(), rules.end(), [](const std::string& rule) {
      return rule.find("KUBE-PORTALS-HOST") != std::string::npos;
    });
    CPPUNIT_ASSERT(jump != rules.end());
    const std::size_t at = jump->find("-m mark ! --mark 0x00001000/0x00001000 ");
    CPPUNIT_ASSERT(at != std::string::npos);
    const std::string wanted = *jump;
    for (const char* const other : {"-m mark --mark 0x1000/0x1000 ", "-m mark ! --mark 0x4000/0x4000 "}) {
      *jump = other + wanted.substr(0, at) + wanted.substr(wanted.find("-m comment"));
      expect_first(line + " (OUTPUT does not lead to KUBE-PORTALS-HOST)");
    }
    // As an earlier version wrote it.
    *jump = wanted.substr(wanted.find("-m comment"));
    expect_first(line);
  }

  void drift_of_external_traffic_is_shown() {
    ServiceSpec service = example();
    service.node_port = 30001;
    service.external_ips = {"192.0.2.10"};
    service.external_local = true;
    const auto reset = [&] { full({service}); };
    const auto node_port = [&] { return rig().inspect().back(); };
    const std::string all = kAll;
    const std::string front = "ns1/svc1:p80 :30001/tcp at every address of this node -> 10.180.0.1:80";
    reset();
    erase("nat", "KUBE-NODEPORT-CONTAINER", "-s 10.0.0.0/8");
    CPPUNIT_ASSERT_EQUAL(front + "; from this node -> " + all + " (not for pods of this node)", node_port());
    reset();
    erase("nat", "KUBE-NODEPORT-HOST", "30001");
    CPPUNIT_ASSERT_EQUAL(front + "; from this node -> " + all + " (not for processes of this node)", node_port());
    reset();
    erase("filter", "KUBE-NODEPORT-NON-LOCAL", "\"ns1/svc1:p80 local\"");
    const std::string shown = node_port();
    CPPUNIT_ASSERT_MESSAGE(shown, shown.find(" (KUBE-NODEPORT-NON-LOCAL does not accept proxy port ") != shown.npos);
    service.endpoints.pop_back();
    reset();
    erase("filter", "FORWARD", "KUBE-PORTALS-FIREWALL");
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc1:p80 :30001/tcp at every address of this node from this node -> "
                                     "10.180.2.1:80; else dropped, no endpoints on this node (FORWARD does not lead to "
                                     "KUBE-PORTALS-FIREWALL)"),
                         node_port());
  }

  void drift_of_source_ranges_is_shown() {
    full({balanced()});
    const std::string front =
        std::string("ns1/svc1:p80 1.2.3.4:80/tcp masqueraded -> ") + kAll + "; only for 203.0.113.0/25";
    const std::string proxy_port = port();
    expect_first(front);
    erase("filter", "KUBE-PORTALS-FIREWALL", "is not reached by its proxy port");
    expect_first(front + " (" + proxy_port + " is open to other sources)");
    full({balanced()});
    erase("filter", "KUBE-PORTALS-FIREWALL", "is not for this source");
    expect_first(front + " (KUBE-PORTALS-FIREWALL does not drop other sources)");
  }

  void objects_that_no_service_wants_come_last() {
    full({example()});
    rig().kernel.foreign(
        "*nat\n-A KUBE-PORTALS-CONTAINER -m comment --comment a/b:c -p tcp -m tcp --dport 80 -d 172.30.0.99/32 -j "
        "REDIRECT "
        "--to-ports 9\n-A KUBE-PORTALS-HOST -s 10.0.0.9 -j ACCEPT\nCOMMIT\n"
        "*filter\n-A KUBE-NODEPORT-NON-LOCAL -m comment --comment a/b:c -p tcp -m tcp --dport 9 -m state --state NEW "
        "-j "
        "ACCEPT\nCOMMIT\n");
    const std::string front = "not wanted by any Service: ";
    expect({std::string("ns1/svc1:p80 172.30.0.41:80/tcp -> ") + kAll,
            front + "172.30.0.99:80/tcp -> nowhere (proxy port 9 is not open) (not for processes of this node)",
            front + "port 9 of a/b:c in KUBE-NODEPORT-NON-LOCAL",
            front + "rule nat -A KUBE-PORTALS-HOST -s 10.0.0.9 -j ACCEPT"});
  }

  void before_the_first_apply_the_call_asks_for_a_retry() {
    CPPUNIT_ASSERT(rig().inspect().empty());
    CPPUNIT_ASSERT(rig().inspected == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(std::string("no Services applied yet: the daemon is still waiting for Services"),
                         std::string(rig().error.message));
  }

  void a_truncated_listing_is_an_error() {
    full({example()});
    rig().kernel.cut_save = true;
    CPPUNIT_ASSERT(rig().inspect().empty());
    CPPUNIT_ASSERT(rig().inspected == abi::Code::kKernel);
    CPPUNIT_ASSERT_EQUAL(std::string("read the rules: the output of /usr/sbin/iptables-nft-save is truncated"),
                         std::string(rig().error.message));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(UserspaceInspectionTest);

}  // namespace inspection_test
}  // namespace sluice::userspace
