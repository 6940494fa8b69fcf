// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Explanations of single packets, from the rules, sets, addresses and virtual servers of the kernel.
#include "plugins/ipvs/explanation.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "test/unit/common/inspection_examples.hpp"
#include "test/unit/common/tracer.hpp"
#include "test/unit/ipvs/backend_fixture.hpp"
#include "test/unit/ipvs/inspection_rows.hpp"

namespace sluice::test {
namespace explanation_test {

using ipvs::SetEntry;
using ipvs::SetId;

constexpr const char* kNode = "192.168.0.2";
constexpr const char* kOutside = "203.0.113.7";
constexpr const char* kPod = "10.180.0.9";

struct Sent {
  std::string client;
  std::string to;
  std::uint16_t port = 80;
  abi::Protocol protocol = abi::Protocol::kTcp;
  std::uint32_t flags = 0;
};

std::string printed_step(const abi::InspectedStep& row) {
  constexpr const char* kVerdicts[] = {"", " SERVED", " REJECTED", " DROPPED", " NOT PROXIED"};
  std::string line = std::string(sdk::text(row.object)) + " | " + std::string(sdk::text(row.effect));
  if ((row.flags & abi::kStepMasquerades) != 0) line += " MASQUERADES";
  for (const auto& target : sdk::range<abi::InspectedTarget>(row.targets)) {
    line += " " + sdk::host_port(target.address, abi::Family::kIpv4, target.port);
    if ((target.flags & abi::kTargetDraining) != 0) line += "/draining";
    if (target.remarks.size != 0) line += " [" + std::string(sdk::text(target.remarks)) + "]";
  }
  if (row.remarks.size != 0) line += " (" + std::string(sdk::text(row.remarks)) + ")";
  return line + kVerdicts[static_cast<std::size_t>(row.verdict)];
}

class IpvsExplanationTest : public IpvsFixture, private InspectionExamples {
  CPPUNIT_TEST_SUITE(IpvsExplanationTest);
  CPPUNIT_TEST(a_cluster_address);
  CPPUNIT_TEST(session_affinity_and_draining);
  CPPUNIT_TEST(no_endpoints);
  CPPUNIT_TEST(no_service);
  CPPUNIT_TEST(node_ports);
  CPPUNIT_TEST(policies_without_local_endpoints);
  CPPUNIT_TEST(source_ranges);
  CPPUNIT_TEST(a_pod_that_reaches_itself);
  CPPUNIT_TEST(a_missing_address_or_virtual_server);
  CPPUNIT_TEST(missing_rules);
  CPPUNIT_TEST(missing_entries);
  CPPUNIT_TEST(every_explanation_agrees_with_the_tracer);
  CPPUNIT_TEST(a_call_changes_nothing);
  CPPUNIT_TEST(before_the_first_apply_the_call_returns_retry);
  CPPUNIT_TEST_SUITE_END();

  template <class Print>
  static std::vector<std::string> explained(IpvsRig& rig, const Sent& sent, Print print) {
    abi::InspectedPacket packet{};
    packet.struct_size = sizeof(packet);
    packet.flags = sent.flags;
    packet.client = address(sent.client);
    packet.address = address(sent.to);
    packet.port = sent.port;
    packet.protocol = sent.protocol;
    return inspected_rows<abi::InspectedStep>(rig, abi::InspectionKind::kInspectExplanation, {}, print, &packet);
  }
  static void expect(IpvsRig& rig, const Sent& sent, const std::vector<std::string>& lines) {
    const std::vector<std::string> found = explained(rig, sent, printed_step);
    CPPUNIT_ASSERT_EQUAL_MESSAGE(rig.error.message, text(lines), text(found));
  }
  static void expect_last(IpvsRig& rig, const Sent& sent, const std::string& line) {
    const std::vector<std::string> found = explained(rig, sent, printed_step);
    CPPUNIT_ASSERT_EQUAL_MESSAGE(rig.error.message, line, found.empty() ? "" : found.back());
  }
  static Sent from_pod(const std::string& to, std::uint16_t port = 80, const std::string& client = kPod) {
    return {client, to, port, abi::Protocol::kTcp, abi::kPacketOfPod};
  }
  static Sent from_outside(const std::string& to, std::uint16_t port = 80) { return {kOutside, to, port}; }
  static Sent from_node(const std::string& to, std::uint16_t port = 80) {
    return {kNode, to, port, abi::Protocol::kTcp, abi::kPacketOfNode};
  }
  static std::set<SetEntry>& entries(IpvsRig& rig, SetId set) {
    return rig.sets.sets.at(ipvs::set_name(set, kFamily)).entries;
  }

  static constexpr const char* kLeads = " | leads the packet to this node, where IPVS receives it";
  static std::string bound(const std::string& ip) { return "address " + ip + " of kube-ipvs0" + kLeads; }
  static std::string source(const std::string& ip) {
    return "address " + ip + " of kube-ipvs0 | is the source of what this node sends to it";
  }
  static std::string ends_nat(const std::string& set) {
    return "rule nat -A KUBE-SERVICES -m set --match-set " + set +
           " dst,dst -j ACCEPT | ends table nat: no later rule changes the destination";
  }
  static std::string passes(const std::string& set) {
    return "rule filter -A KUBE-IPVS-FILTER -m set --match-set " + set +
           " dst,dst -j RETURN | passes the packet: a Service has this address and port";
  }
  static constexpr const char* kMarksCluster =
      "rule nat -A KUBE-SERVICES -m comment --comment \"Kubernetes service cluster ip + port for masquerade purpose\" "
      "-m set --match-set KUBE-CLUSTER-IP dst,dst ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ | marks the packet for masquerading";
  static constexpr const char* kBoth = " 10.180.0.1:80 10.180.2.1:80";
  static std::string balanced_line(const std::string& key, const std::string& more = {}) {
    return "virtual server " + key + "/TCP | chooses one of 2 endpoints with scheduler rr" + more + kBoth;
  }

  void a_cluster_address() {
    IpvsRig rig;
    ok(rig, rig.full({example()}));
    const std::string chosen = balanced_line("172.30.0.41:80") + " SERVED";
    expect(rig, from_pod("172.30.0.41"),
           {ends_nat("KUBE-CLUSTER-IP"), bound("172.30.0.41"), passes("KUBE-CLUSTER-IP"), chosen});
    const std::string marks = std::string(kMarksCluster) + " MASQUERADES";
    expect(rig, from_outside("172.30.0.41"),
           {marks, ends_nat("KUBE-CLUSTER-IP"), bound("172.30.0.41"), passes("KUBE-CLUSTER-IP"), chosen});
    expect(rig, from_node("172.30.0.41"), {source("172.30.0.41"), marks, ends_nat("KUBE-CLUSTER-IP"), chosen});
  }

  void session_affinity_and_draining() {
    IpvsRig rig;
    ServiceSpec sticky = example();
    sticky.affinity_seconds = 60;
    ok(rig, rig.full({sticky}));
    const std::string begin = "virtual server 172.30.0.41:80/TCP | ";
    const std::string same = ", the same one for each connection of this client within 60 s";
    expect_last(rig, from_pod("172.30.0.41"), balanced_line("172.30.0.41:80", same) + " SERVED");
    auto& real = rig.servers.held.at(rig.key("172.30.0.41", 80)).real;
    real.at({address("10.180.2.1"), 80}).weight = 0;
    real.at({address("10.180.0.1"), 80}) = {5, false, 0};
    const std::string drains = " 10.180.2.1:80/draining [weight 0: receives no new connections]";
    expect_last(rig, from_pod("172.30.0.41"),
                begin + "sends the packet to its only endpoint" + same +
                    " 10.180.0.1:80 [weight 5, its forwarding method is not NAT]" + drains + " SERVED");
    real.erase({address("10.180.0.1"), 80});
    expect_last(rig, from_pod("172.30.0.41"),
                begin + "rejects the packet: all its endpoints drain" + drains + " REJECTED");
  }

  void no_endpoints() {
    IpvsRig rig;
    ServiceSpec empty = example();
    empty.endpoints.clear();
    ok(rig, rig.full({empty}));
    const std::string rejects =
        "virtual server 172.30.0.41:80/TCP | rejects the packet: it has no endpoints REJECTED";
    for (const Sent& sent : {from_pod("172.30.0.41"), from_node("172.30.0.41"), from_outside("172.30.0.41")}) {
      expect_last(rig, sent, rejects);
    }
  }

  void no_service() {
    IpvsRig rig;
    ok(rig, rig.full({example()}));
    expect(rig, from_pod("8.8.8.8"),
           {"IPVS | has no virtual server for 8.8.8.8:80/TCP: the packet continues to its destination NOT PROXIED"});
    expect_last(rig, from_outside(kNode, 22),
                "IPVS | has no virtual server for 192.168.0.2:22/TCP: a program of this node receives the packet, if "
                "one listens there NOT PROXIED");
    const std::string rejects =
        "rule filter -A KUBE-IPVS-FILTER -m conntrack --ctstate NEW -m set --match-set KUBE-IPVS-IPS dst -j REJECT | "
        "rejects the packet: no Service has this address and port REJECTED";
    expect(rig, from_outside("172.30.0.41", 22), {bound("172.30.0.41"), rejects});
    expect(rig, from_node("172.30.0.41", 22), {source("172.30.0.41"), rejects});
  }

  void node_ports() {
    IpvsRig rig;
    ServiceSpec service = example();
    service.node_port = 30001;
    ServiceSpec local = example(2);
    local.node_port = 30002;
    local.external_local = true;
    ok(rig, rig.full({service, local}));
    const std::string jump =
        "rule nat -A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODE-PORT | jumps to chain KUBE-NODE-PORT";
    const std::string address_of_node = std::string("address 192.168.0.2 of this node") + kLeads;
    expect(rig, from_outside(kNode, 30001),
           {jump,
            "rule nat -A KUBE-NODE-PORT -p tcp -m comment --comment \"Kubernetes nodeport TCP port for masquerade "
            "purpose\" -m set --match-set KUBE-NODE-PORT-TCP dst -j KUBE-MARK-MASQ | marks the packet for masquerading "
            "MASQUERADES",
            address_of_node, balanced_line("192.168.0.2:30001") + " SERVED"});
    expect(rig, from_outside(kNode, 30002),
           {jump,
            "rule nat -A KUBE-NODE-PORT -p tcp -m comment --comment \"Kubernetes nodeport TCP port with "
            "externalTrafficPolicy=local\" -m set --match-set KUBE-NODE-PORT-LOCAL-TCP dst -j RETURN | leaves the "
            "packet unmarked: the external traffic policy is Local",
            address_of_node,
            "virtual server 192.168.0.2:30002/TCP | sends the packet to its only endpoint 10.180.0.1:80 SERVED"});
    expect_last(rig, from_node("127.0.0.1", 30001),
                "IPVS | has no virtual server for 127.0.0.1:30001/TCP: a program of this node receives the packet, if "
                "one listens there NOT PROXIED");
  }

  void policies_without_local_endpoints() {
    IpvsRig rig;
    ServiceSpec remote = example();
    remote.endpoints.pop_back();
    remote.vips = {"1.2.3.4"};
    remote.external_local = true;
    ServiceSpec internal = example(2);
    internal.endpoints.pop_back();
    internal.internal_local = true;
    ok(rig, rig.full({remote, internal}));
    const auto chosen = [](const std::string& key) {
      return "virtual server " + key + "/TCP | sends the packet to its only endpoint 10.180.2.1:80";
    };
    const std::string remote_serves =
        " (the traffic policy is Local, but this node has no endpoint: those of other nodes serve) SERVED";
    expect_last(rig, from_outside("1.2.3.4"), chosen("1.2.3.4:80") + remote_serves);
    expect_last(rig, from_pod("172.30.0.41"), chosen("172.30.0.41:80") + " SERVED");
    expect_last(rig, from_pod("172.30.0.42"),
                "virtual server 172.30.0.42:80/TCP | rejects the packet: it has no endpoints (the traffic policy is "
                "Local, but this node has no endpoint) REJECTED");
  }

  void source_ranges() {
    IpvsRig rig;
    ok(rig, rig.full({balanced()}));
    const std::string jump =
        "rule nat -A KUBE-SERVICES -m comment --comment \"Kubernetes service lb portal\" -m set --match-set "
        "KUBE-LOAD-BALANCER dst,dst -j KUBE-LOAD-BALANCER | jumps to chain KUBE-LOAD-BALANCER";
    const std::string marks =
        "rule nat -A KUBE-LOAD-BALANCER -j KUBE-MARK-MASQ | marks the packet for masquerading MASQUERADES";
    const std::string to_ranges =
        "rule filter -A KUBE-PROXY-FIREWALL -m comment --comment \"Kubernetes service load balancer ip + port for load "
        "balancer with sourceRange\" -m set --match-set KUBE-LOAD-BALANCER-FW dst,dst -j KUBE-SOURCE-RANGES-FIREWALL | "
        "jumps to chain KUBE-SOURCE-RANGES-FIREWALL";
    expect(rig, from_outside("1.2.3.4"),
           {jump, marks, ends_nat("KUBE-LOAD-BALANCER"), bound("1.2.3.4"), passes("KUBE-LOAD-BALANCER"), to_ranges,
            "rule filter -A KUBE-SOURCE-RANGES-FIREWALL -m comment --comment \"Kubernetes service load balancer ip + "
            "port + source cidr for packet filter purpose\" -m set --match-set KUBE-LOAD-BALANCER-SOURCE-CIDR "
            "dst,dst,src -j RETURN | passes the packet: its source is in a source range",
            balanced_line("1.2.3.4:80") + " SERVED"});
    expect_last(rig, {"203.0.113.200", "1.2.3.4"},
                "rule filter -A KUBE-SOURCE-RANGES-FIREWALL -j DROP | drops the packet: its source is in no source "
                "range DROPPED");
    const std::string ip = "1.2.3.4";
    const std::vector<std::string> found = explained(rig, from_node(ip), printed_step);
    CPPUNIT_ASSERT_EQUAL(std::string("rule filter -A KUBE-IPVS-OUT-FILTER -s 1.2.3.4 -m ipvs --vaddr 1.2.3.4 --vproto "
                                     "tcp --vport 80 -j DROP | drops the packet: no source range contains this node "
                                     "DROPPED"),
                         found.back());
    CPPUNIT_ASSERT_EQUAL(std::string("virtual server 1.2.3.4:80/TCP | chooses one of 2 endpoints with scheduler rr"),
                         found.at(found.size() - 2));
    // A process that has bound another address of the node.
    Sent bound_to = from_node(ip);
    bound_to.client = "192.168.0.3";
    expect(rig, bound_to, {jump, marks, ends_nat("KUBE-LOAD-BALANCER"), balanced_line("1.2.3.4:80") + " SERVED"});
  }

  void a_pod_that_reaches_itself() {
    IpvsRig rig;
    ok(rig, rig.full({example()}));
    expect_last(rig, from_pod("172.30.0.41", 80, "10.180.0.1"),
                "virtual server 172.30.0.41:80/TCP | chooses one of 2 endpoints with scheduler rr 10.180.0.1:80 "
                "[masqueraded: the client reaches itself] 10.180.2.1:80 SERVED");
  }

  void a_missing_address_or_virtual_server() {
    IpvsRig rig;
    ok(rig, rig.full({example()}));
    rig.links.links.at("kube-ipvs0").addresses.at(kFamily).clear();
    expect_last(rig, from_pod("172.30.0.41"),
                "IPVS | does not receive packets to an address of another host: the packet continues to its "
                "destination (not an address of kube-ipvs0) NOT PROXIED");
    expect_last(rig, from_node("172.30.0.41"),
                balanced_line("172.30.0.41:80") + " (not an address of kube-ipvs0) SERVED");
    ok(rig, rig.full({example()}));
    rig.servers.held.clear();
    expect_last(rig, from_pod("172.30.0.41"),
                "IPVS | has no virtual server for 172.30.0.41:80/TCP: a program of this node receives the packet, if "
                "one listens there (no virtual server for ns1/svc1:p80) NOT PROXIED");
  }

  void missing_rules() {
    IpvsRig rig;
    ServiceSpec service = balanced();
    service.external_ips = {"192.0.2.10"};
    const auto reset = [&] { ok(rig, rig.full({service})); };
    const std::string chosen = balanced_line("172.30.0.41:80");
    reset();
    erase_rules(rig.rules, "nat", "PREROUTING", "KUBE-SERVICES");
    expect_last(rig, from_outside("172.30.0.41"), chosen + " (PREROUTING does not lead to KUBE-SERVICES) SERVED");
    reset();
    erase_rules(rig.rules, "nat", "KUBE-MARK-MASQ", "MARK");
    expect_last(rig, from_outside("172.30.0.41"),
                chosen + " (no rule nat -A KUBE-MARK-MASQ -j MARK --or-mark 0x00004000) SERVED");
    expect_last(rig, from_pod("172.30.0.41"), chosen + " SERVED");  // not affected
    reset();
    erase_rules(rig.rules, "nat", "POSTROUTING", "KUBE-POSTROUTING");
    expect_last(rig, from_outside("172.30.0.41"),
                chosen + " (the packet is marked, but not masqueraded, POSTROUTING does not lead to KUBE-POSTROUTING) "
                         "SERVED");
    expect_last(rig, from_pod("172.30.0.41"), chosen + " SERVED");
    reset();
    erase_rules(rig.rules, "filter", "KUBE-IPVS-FILTER", "KUBE-CLUSTER-IP");
    expect_last(rig, from_pod("172.30.0.41"),
                "rule filter -A KUBE-IPVS-FILTER -m conntrack --ctstate NEW -m set --match-set KUBE-IPVS-IPS dst -j "
                "REJECT | rejects the packet: no Service has this address and port (no rule filter -A "
                "KUBE-IPVS-FILTER -m set --match-set KUBE-CLUSTER-IP dst,dst -j RETURN) REJECTED");
    reset();
    erase_rules(rig.rules, "filter", "KUBE-SOURCE-RANGES-FIREWALL", "-j DROP");
    expect_last(rig, {"203.0.113.200", "1.2.3.4"},
                balanced_line("1.2.3.4:80") + " (no rule filter -A KUBE-SOURCE-RANGES-FIREWALL -j DROP) SERVED");
    expect_last(rig, from_outside("1.2.3.4"), balanced_line("1.2.3.4:80") + " SERVED");
    erase_rules(rig.rules, "filter", "INPUT", "KUBE-PROXY-FIREWALL");
    expect_last(rig, from_outside("1.2.3.4"), balanced_line("1.2.3.4:80") + " SERVED");
  }

  void missing_entries() {
    IpvsRig rig;
    ServiceSpec service = example();
    service.external_ips = {"192.0.2.10"};
    service.node_port = 30001;
    ok(rig, rig.full({service}));
    entries(rig, SetId::kExternalIp).clear();
    expect_last(rig, from_outside("192.0.2.10"),
                "rule filter -A KUBE-IPVS-FILTER -m conntrack --ctstate NEW -m set --match-set KUBE-IPVS-IPS dst -j "
                "REJECT | rejects the packet: no Service has this address and port (no entry in KUBE-EXTERNAL-IP) "
                "REJECTED");
    entries(rig, SetId::kNodePortTcp).clear();
    expect_last(rig, from_outside(kNode, 30001),
                balanced_line("192.168.0.2:30001") + " (no entry in KUBE-NODE-PORT-TCP) SERVED");
  }

  // "10.180.0.1:80* 10.180.2.1:80", REJ, DROP or PASS, as the tracer prints it.
  static std::string outcome(IpvsRig& rig, const Sent& sent) {
    bool masqueraded = false;
    std::string last;
    explained(rig, sent, [&](const abi::InspectedStep& row) {
      masqueraded = masqueraded || (row.flags & abi::kStepMasquerades) != 0;
      constexpr const char* kVerdicts[] = {"", "", "REJ", "DROP", "PASS"};
      last = kVerdicts[static_cast<std::size_t>(row.verdict)];
      if (row.verdict != abi::InspectedVerdict::kServed) return std::string();
      for (const auto& target : sdk::range<abi::InspectedTarget>(row.targets)) {
        if ((target.flags & abi::kTargetDraining) != 0) continue;
        const bool itself = has(std::string(sdk::text(target.remarks)), "masqueraded");
        last += (last.empty() ? "" : " ") + sdk::host_port(target.address, kFamily, target.port) +
                (masqueraded || itself ? "*" : "");
      }
      return std::string();
    });
    return last;
  }

  static std::string traced(const IpvsRig& rig, const Sent& sent) {
    std::set<std::string> local(rig.node.local_addresses.begin(), rig.node.local_addresses.end());
    const auto link = rig.links.links.find("kube-ipvs0");
    if (link != rig.links.links.end()) {
      for (const abi::Address& each : link->second.addresses.at(kFamily)) local.insert(sdk::to_string(each, kFamily));
    }
    TableRules tables = rig.rules.tables;
    // It is for connections that another backend translates; the tracer takes those of IPVS for such.
    tables.at("nat").at("KUBE-IPVS-HANDOVER").clear();
    Tracer tracer(tables, local);
    for (const SetId id : ipvs::all_sets()) {
      std::set<std::string> found;
      for (const SetEntry& each : rig.sets.held(id)) found.insert(ipvs::to_string(each, ipvs::spec(id).type, kFamily));
      tracer.add_set(ipvs::set_name(id, kFamily), found);
    }
    const auto named = [](abi::Protocol protocol) { return std::string(sdk::protocol_name(protocol)); };
    for (const auto& [key, server] : rig.servers.held) {
      std::vector<std::string> real;
      for (const auto& [each, state] : server.real) {
        if (state.weight != 0) real.push_back(ipvs::to_string(each, kFamily));
      }
      tracer.add_server(sdk::host_port(key.address, kFamily, key.port) + "/" + named(key.protocol), real);
    }
    const bool from_node = (sent.flags & abi::kPacketOfNode) != 0;
    const bool here = local.contains(sent.to) || sent.to.starts_with("127.");
    return tracer.outcomes({from_node && here ? sent.to : sent.client, sent.to, named(sent.protocol), sent.port,
                            from_node ? "" : (sent.flags & abi::kPacketOfPod) != 0 ? "veth0" : "eth0"});
  }

  static std::vector<ServiceSpec> rich() {
    ServiceSpec local = example(1);
    local.external_local = true;
    local.vips = {"1.2.3.4"};
    local.external_ips = {"192.0.2.10"};
    local.source_ranges = {"203.0.113.0/25", "192.168.0.0/24"};
    local.node_port = 30001;
    local.health_check_node_port = 32000;
    ServiceSpec closed = example(2);
    closed.vips = {"1.2.3.5"};
    closed.external_ips = {"192.0.2.11"};
    closed.source_ranges = {"203.0.113.0/25"};
    closed.node_port = 30002;
    ServiceSpec empty = example(3);
    empty.endpoints.clear();
    empty.node_port = 30003;
    ServiceSpec udp = example(4);
    udp.protocol = abi::Protocol::kUdp;
    udp.node_port = 30004;
    ServiceSpec sctp = example(5);
    sctp.protocol = abi::Protocol::kSctp;
    sctp.external_local = true;
    sctp.node_port = 30005;
    return {local, closed, empty, udp, sctp};
  }

  static void compare_all(IpvsRig& rig, const std::string& what) {
    const std::vector<Sent> clients{{kOutside, ""},
                                    {"203.0.113.200", ""},
                                    {kPod, "", 0, {}, abi::kPacketOfPod},
                                    {"10.180.0.1", "", 0, {}, abi::kPacketOfPod},
                                    {kNode, "", 0, {}, abi::kPacketOfNode}};
    constexpr abi::Protocol kTcp = abi::Protocol::kTcp, kUdp = abi::Protocol::kUdp, kSctp = abi::Protocol::kSctp;
    const std::vector<std::tuple<std::string, std::uint16_t, abi::Protocol>> destinations{
        {"172.30.0.41", 80, kTcp}, {"172.30.0.42", 80, kTcp}, {"172.30.0.43", 80, kTcp},   {"1.2.3.4", 80, kTcp},
        {"1.2.3.5", 80, kTcp},     {"192.0.2.10", 80, kTcp},  {"192.0.2.11", 80, kTcp},    {kNode, 30001, kTcp},
        {kNode, 30002, kTcp},      {kNode, 30003, kTcp},      {kNode, 22, kTcp},           {kNode, 32000, kTcp},
        {"127.0.0.1", 30001, kTcp}, {"8.8.8.8", 80, kTcp},    {"172.30.0.41", 22, kTcp},   {"1.2.3.4", 32000, kTcp},
        {"172.30.0.44", 80, kUdp}, {"172.30.0.41", 80, kUdp}, {kNode, 30004, kUdp},        {kNode, 30001, kUdp},
        {"172.30.0.45", 80, kSctp}, {kNode, 30005, kSctp}};
    for (Sent sent : clients) {
      for (const auto& [to, port, protocol] : destinations) {
        sent.to = to;
        sent.port = port;
        sent.protocol = protocol;
        const std::string expected = traced(rig, sent);
        const std::string found = outcome(rig, sent);
        // The tracer does not follow packets of this node to INPUT that no virtual server takes.
        const bool inside = (sent.flags & abi::kPacketOfNode) != 0 && expected == "PASS" && found.size() <= 4;
        CPPUNIT_ASSERT_EQUAL_MESSAGE(what + ": " + sent.client + " to " + to + ":" + std::to_string(port) + "/" +
                                         std::string(sdk::protocol_name(protocol)),
                                     expected, inside ? "PASS" : found);
      }
    }
  }

  void every_explanation_agrees_with_the_tracer() {
    IpvsRig rig;
    const auto flush = [&](const std::string& table, const std::string& chain) {
      rig.rules.tables.at(table).at(chain).clear();
    };
    const std::vector<std::pair<std::string, std::function<void()>>> states{
        {"healthy", [] {}},
        {"no address", [&] { rig.links.links.at("kube-ipvs0").addresses.at(kFamily).clear(); }},
        {"no virtual servers", [&] { rig.servers.held.clear(); }},
        {"no marks", [&] { flush("nat", "KUBE-MARK-MASQ"); }},
        {"no KUBE-SERVICES", [&] { flush("nat", "KUBE-SERVICES"); }},
        {"no KUBE-POSTROUTING", [&] { flush("nat", "KUBE-POSTROUTING"); }},
        {"no KUBE-IPVS-FILTER", [&] { flush("filter", "KUBE-IPVS-FILTER"); }},
        {"no INPUT", [&] { flush("filter", "INPUT"); }},
        {"no OUTPUT", [&] { flush("filter", "OUTPUT"); }},
        {"unmarked packets are masqueraded", [&] { erase_rules(rig.rules, "nat", "KUBE-POSTROUTING", "RETURN"); }},
        {"no cluster addresses", [&] { entries(rig, SetId::kClusterIp).clear(); }},
        {"no source ranges", [&] { entries(rig, SetId::kLoadBalancerSourceCidr).clear(); }},
    };
    for (const auto& [what, change] : states) {
      ok(rig, rig.full(rich()));
      change();
      compare_all(rig, what);
    }
    NodeSpec without = rig.node;
    without.detector = abi::LocalDetectorKind::kNone;
    ok(rig, rig.full(rich(), without));
    compare_all(rig, "no detector");
    NodeSpec all = rig.node;
    all.flags |= abi::kMasqueradeAll;
    ok(rig, rig.full(rich(), all));
    compare_all(rig, "masquerade all");
    NodeSpec interface = rig.node;
    interface.detector = abi::LocalDetectorKind::kInterfaceNamePrefix;
    interface.detector_interface = "veth";
    ok(rig, rig.full(rich(), interface));
    compare_all(rig, "interface of pods");
  }

  void a_call_changes_nothing() {
    IpvsRig rig;
    ok(rig, rig.full(rich()));
    ok(rig, rig.verify());
    const std::string before = rig.kernel_text();
    const std::uint64_t messages = rig.messages();
    outcome(rig, from_pod("172.30.0.41"));
    CPPUNIT_ASSERT_EQUAL(before, rig.kernel_text());
    CPPUNIT_ASSERT_EQUAL(messages, rig.messages());
    rig.rules.foreign("*nat\n-F KUBE-SERVICES\nCOMMIT\n");
    outcome(rig, from_pod("172.30.0.41"));
    rig.host.clock += 3'600'000'000'000;
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    rig.servers.dumps_left = 0;
    CPPUNIT_ASSERT_EQUAL(std::string(), outcome(rig, from_pod("172.30.0.41")));
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kRetry);
  }

  void before_the_first_apply_the_call_returns_retry() {
    IpvsRig rig;
    CPPUNIT_ASSERT(explained(rig, from_pod("172.30.0.41"), printed_step).empty());
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.servers.dumps());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsExplanationTest);

}  // namespace explanation_test
}  // namespace sluice::test
