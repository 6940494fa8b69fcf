// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What happens to a packet on its way through rules, proxy sockets and the relay.
#include <cppunit/extensions/HelperMacros.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "test/unit/common/inspection_examples.hpp"
#include "test/unit/userspace/backend_rig.hpp"

namespace sluice::userspace {
namespace explanation_test {

using test::NodeSpec;
using test::ServiceSpec;
using test::UserspaceRig;

constexpr const char* kOutside = "203.0.113.9";
constexpr const char* kPod = "10.1.2.3";
constexpr const char* kNode = "192.168.0.2";
constexpr const char* kAll = " -> 10.180.0.1:80, 10.180.2.1:80";

class UserspaceExplanationTest : public test::UserspaceFixture, private test::InspectionExamples {
  CPPUNIT_TEST_SUITE(UserspaceExplanationTest);
  CPPUNIT_TEST(a_cluster_ip_is_served);
  CPPUNIT_TEST(processes_of_this_node_pass_other_chains);
  CPPUNIT_TEST(other_addresses_are_not_proxied);
  CPPUNIT_TEST(a_node_port_is_accepted_and_served);
  CPPUNIT_TEST(node_ports_are_served_at_their_addresses_only);
  CPPUNIT_TEST(external_policy_local_depends_on_the_client);
  CPPUNIT_TEST(pods_are_recognised_by_their_interface);
  CPPUNIT_TEST(internal_policy_local_drops_without_local_endpoints);
  CPPUNIT_TEST(packets_without_endpoints_are_rejected);
  CPPUNIT_TEST(source_ranges_decide);
  CPPUNIT_TEST(a_proxy_port_is_reached_directly_unless_it_is_guarded);
  CPPUNIT_TEST(session_affinity_is_shown);
  CPPUNIT_TEST(masquerade_all_hides_clients);
  CPPUNIT_TEST(missing_rules_are_named);
  CPPUNIT_TEST(a_missing_node_port_rule_leads_to_the_claim_socket);
  CPPUNIT_TEST(a_refused_claim_is_named);
  CPPUNIT_TEST(a_socket_that_does_not_listen_rejects);
  CPPUNIT_TEST(a_rule_to_a_closed_port_rejects);
  CPPUNIT_TEST(counters_of_rules_are_shown);
  CPPUNIT_TEST(rules_that_cannot_be_evaluated_are_named);
  CPPUNIT_TEST(ipv6_is_explained);
  CPPUNIT_TEST(before_the_first_apply_the_call_asks_for_a_retry);
  CPPUNIT_TEST_SUITE_END();

  void full(const std::vector<ServiceSpec>& services, NodeSpec node = {}) {
    node.local_addresses = {kNode, "192.168.1.2"};
    test::ok(rig(), rig().full(services, node));
  }
  std::string explained(const std::string& client, const std::string& address, std::uint16_t port = 80,
                        abi::Protocol protocol = abi::Protocol::kTcp) {
    const std::uint32_t flags = client == kNode ? abi::kPacketOfNode : client == kPod ? abi::kPacketOfPod : 0;
    std::string all = text(rig().explain(client, address, port, protocol, flags));
    // The random port, which is that of the cluster listener if there are two.
    for (const std::uint16_t number : rig().ports("ns1/svc1")) {
      for (std::size_t at; (at = all.find(std::to_string(number))) != all.npos;) all.replace(at, 5, "PORT");
    }
    return all;
  }
  void expect(const std::vector<std::string>& lines, const std::string& explanation) {
    CPPUNIT_ASSERT_EQUAL(text(lines), explanation);
  }
  static std::string last(const std::string& explanation) {
    const std::size_t end = explanation.size() - 1;
    const std::size_t begin = explanation.rfind('\n', end - 1) + 1;  // 0: there is only one line
    return explanation.substr(begin, end - begin);
  }
  void expect_last(const std::string& line, const std::string& explanation) {
    CPPUNIT_ASSERT_EQUAL_MESSAGE(explanation, line, last(explanation));
  }
  void erase(const std::string& table, const std::string& chain, const std::string& part) {
    erase_rules(rig().kernel, table, chain, part);
  }

  const std::string arrives =
      "rule nat -A PREROUTING -m comment --comment \"handle ClusterIPs; NOTE: this must be before the NodePort rules\" "
      "-j KUBE-PORTALS-CONTAINER: jumps to KUBE-PORTALS-CONTAINER";
  const std::string served = "relay of ns1/svc1:p80: chooses one of 2 endpoints in turn; it sees ";
  const std::string client_seen = "the address of the client";
  const std::string node_seen = "an address of this node, masqueraded";

  void a_cluster_ip_is_served() {
    full({example()});
    expect({arrives,
            "rule nat -A KUBE-PORTALS-CONTAINER -m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 80 -d "
            "172.30.0.41/32 -j DNAT --to-destination 127.0.0.1:PORT: redirects to proxy port PORT of ns1/svc1:p80",
            "proxy socket PORT/tcp: receives clients of ns1/svc1:p80, for all endpoints",
            served + client_seen + kAll + " = served"},
           explained(kPod, "172.30.0.41"));
    expect_last(served + node_seen + kAll + " = served", explained(kOutside, "172.30.0.41"));
  }

  void processes_of_this_node_pass_other_chains() {
    full({example()});
    const std::string explanation = explained(kNode, "172.30.0.41");
    CPPUNIT_ASSERT_MESSAGE(explanation, explanation.starts_with("rule nat -A OUTPUT -m mark ! --mark "));
    CPPUNIT_ASSERT_MESSAGE(explanation, explanation.find("\nrule nat -A KUBE-PORTALS-HOST ") != explanation.npos);
    expect_last(served + node_seen + kAll + " = served", explanation);
  }

  void other_addresses_are_not_proxied() {
    full({example()});
    const std::string none = "portal rules: redirect no such packet = not proxied";
    expect({none}, explained(kPod, "172.30.0.99"));
    expect({none}, explained(kPod, "172.30.0.41", 81));
    expect({none}, explained(kPod, "172.30.0.41", 80, abi::Protocol::kUdp));
    expect({none}, explained(kPod, "172.30.0.41", 80, abi::Protocol::kSctp));
    expect({none}, explained(kNode, kNode, 22));
  }

  void a_node_port_is_accepted_and_served() {
    ServiceSpec service = example();
    service.node_port = 30001;
    full({service});
    const std::string explanation = explained(kOutside, kNode, 30001);
    for (const char* const part :
         {"rule nat -A PREROUTING -m addrtype --dst-type LOCAL ", "\nrule nat -A KUBE-NODEPORT-CONTAINER ",
          "\nrule filter -A INPUT ", "\nrule filter -A KUBE-NODEPORT-NON-LOCAL ", ": accepts the packet\n"}) {
      CPPUNIT_ASSERT_MESSAGE(explanation, explanation.find(part) != explanation.npos);
    }
    expect_last(served + node_seen + kAll + " = served", explanation);
    expect_last(served + node_seen + kAll + " = served", explained(kNode, "192.168.1.2", 30001));
  }

  void node_ports_are_served_at_their_addresses_only() {
    ServiceSpec service = example();
    service.node_port = 30001;
    NodeSpec node;
    node.flags = 0;
    node.node_port_addresses = {"192.168.1.2"};
    full({service}, node);
    expect_last(served + node_seen + kAll + " = served", explained(kOutside, "192.168.1.2", 30001));
    expect({"portal rules: redirect no such packet = not proxied"}, explained(kOutside, kNode, 30001));
  }

  void external_policy_local_depends_on_the_client() {
    ServiceSpec service = example();
    service.external_ips = {"192.0.2.10"};
    service.external_local = true;
    full({service});
    expect_last(
        "relay of ns1/svc1:p80: connects to the only endpoint; it sees the address of the client -> "
        "10.180.0.1:80 = served",
        explained(kOutside, "192.0.2.10"));
    expect_last(served + client_seen + kAll + " = served", explained(kPod, "192.0.2.10"));
    service.endpoints.pop_back();
    full({service});
    const std::string dropped = explained(kOutside, "192.0.2.10");
    CPPUNIT_ASSERT_MESSAGE(dropped, dropped.starts_with("rule filter -A FORWARD "));
    CPPUNIT_ASSERT_MESSAGE(
        dropped, last(dropped).ends_with(": drops the packet: ns1/svc1:p80 has no local endpoints = dropped"));
    expect_last(
        "relay of ns1/svc1:p80: connects to the only endpoint; it sees the address of the client -> "
        "10.180.2.1:80 = served",
        explained(kPod, "192.0.2.10"));
  }

  void pods_are_recognised_by_their_interface() {
    ServiceSpec service = example();
    service.external_ips = {"192.0.2.10"};
    service.external_local = true;
    NodeSpec node;
    node.detector = abi::LocalDetectorKind::kInterfaceNamePrefix;
    node.detector_interface = "cali";
    full({service}, node);
    expect_last(served + client_seen + kAll + " = served", explained(kPod, "192.0.2.10"));
    expect_last(
        "relay of ns1/svc1:p80: connects to the only endpoint; it sees the address of the client -> "
        "10.180.0.1:80 = served",
        explained(kOutside, "192.0.2.10"));
  }

  void internal_policy_local_drops_without_local_endpoints() {
    ServiceSpec service = example();
    service.internal_local = true;
    service.endpoints.pop_back();
    full({service});
    const std::string dropped = explained(kPod, "172.30.0.41");
    CPPUNIT_ASSERT_MESSAGE(dropped, last(dropped).ends_with(" = dropped"));
  }

  void packets_without_endpoints_are_rejected() {
    ServiceSpec service = example();
    service.endpoints.clear();
    service.external_ips = {"192.0.2.10"};
    full({service});
    for (const char* const client : {kPod, kOutside, kNode}) {
      const std::string rejected = explained(client, "172.30.0.41");
      CPPUNIT_ASSERT_MESSAGE(
          rejected, last(rejected).ends_with(": rejects the packet: ns1/svc1:p80 has no endpoints = rejected"));
    }
    const std::string passed = explained(kNode, "192.0.2.10");
    CPPUNIT_ASSERT_MESSAGE(passed,
                           passed.find(": passes the packet on: ns1/svc1:p80 has no endpoints\n") != passed.npos);
    expect_last("portal rules: redirect no such packet = not proxied", passed);
  }

  void source_ranges_decide() {
    full({balanced()});
    expect_last(served + node_seen + kAll + " = served", explained(kOutside, "1.2.3.4"));
    const std::string dropped = explained("203.0.113.200", "1.2.3.4");
    CPPUNIT_ASSERT_MESSAGE(
        dropped, last(dropped).ends_with(": drops the packet: ns1/svc1:p80 is not for this source = dropped"));
  }

  void a_proxy_port_is_reached_directly_unless_it_is_guarded() {
    full({example()});
    expect_last(served + node_seen + kAll + " = served", explained(kOutside, "127.0.0.1", rig().port("ns1/svc1")));
    full({balanced()});
    const std::string dropped = explained(kOutside, "127.0.0.1", rig().port("ns1/svc1"));
    CPPUNIT_ASSERT_MESSAGE(dropped, last(dropped).ends_with(" is not reached by its proxy port = dropped"));
  }

  void session_affinity_is_shown() {
    ServiceSpec service = example();
    service.affinity_seconds = 60;
    full({service});
    expect_last(
        "relay of ns1/svc1:p80: chooses one of 2 endpoints in turn and remembers it for the client (session "
        "affinity, 60 s); it sees the address of the client" +
            std::string(kAll) + " = served",
        explained(kPod, "172.30.0.41"));
    test::World world;
    const abi::ServicePort port = world.service(service);
    abi::AffinityClient client{};
    client.key = port.key;
    client.client = *sdk::parse_address(kPod, abi::Family::kIpv4);
    client.endpoint = *sdk::parse_address("10.180.2.1", abi::Family::kIpv4);
    client.endpoint_port = 80;
    client.remaining_seconds = 50;
    test::ok(rig(), rig().affinity().import_clients(sdk::array(&client, 1), &rig().error));
    const std::string bound =
        "relay of ns1/svc1:p80: chooses 10.180.2.1:80 as for an earlier connection of the client (session affinity, "
        "60 s)";
    expect_last(bound + ", another endpoint if it does not answer; it sees the address of the client" + kAll + " = served",
                explained(kPod, "172.30.0.41"));
    service.endpoints.pop_back();
    full({service});
    expect_last(bound + "; it sees the address of the client -> 10.180.2.1:80 = served",
                explained(kPod, "172.30.0.41"));
  }

  void masquerade_all_hides_clients() {
    NodeSpec node;
    node.flags |= abi::kMasqueradeAll;
    full({example()}, node);
    expect_last(served + node_seen + kAll + " = served", explained(kPod, "172.30.0.41"));
  }

  void missing_rules_are_named() {
    full({example()});
    erase("nat", "KUBE-PORTALS-CONTAINER", "172.30.0.41");
    expect({"portal rules: redirect no such packet (missing: rule nat -A KUBE-PORTALS-CONTAINER -m comment --comment "
            "ns1/svc1:p80 -p tcp -m tcp --dport 80 -d 172.30.0.41/32 -j DNAT --to-destination 127.0.0.1:PORT) = not "
            "proxied"},
           explained(kPod, "172.30.0.41"));
    full({example()});
    erase("nat", "PREROUTING", "KUBE-PORTALS-CONTAINER");
    const std::string passed = explained(kPod, "172.30.0.41");
    CPPUNIT_ASSERT_MESSAGE(passed, passed.find("(missing: rule nat -A PREROUTING ") != passed.npos);
    CPPUNIT_ASSERT_MESSAGE(passed, passed.ends_with("-j KUBE-PORTALS-CONTAINER) = not proxied\n"));
  }

  void a_missing_node_port_rule_leads_to_the_claim_socket() {
    ServiceSpec service = example();
    service.node_port = test::free_port(abi::Family::kIpv4);
    ServiceSpec datagrams = example(2);
    datagrams.protocol = abi::Protocol::kUdp;
    datagrams.node_port = test::free_port(abi::Family::kIpv4);
    full({service, datagrams});
    erase("nat", "KUBE-NODEPORT-CONTAINER", "-j DNAT");
    const std::string number = std::to_string(service.node_port);
    const std::string refused = explained(kOutside, kNode, service.node_port);
    CPPUNIT_ASSERT_MESSAGE(refused, refused.starts_with("claim socket " + number +
                                                        "/tcp: holds the port for ns1/svc1:p80 and does not listen "
                                                        "(missing: rule nat -A KUBE-NODEPORT-CONTAINER "));
    CPPUNIT_ASSERT_MESSAGE(refused, refused.ends_with(" = rejected\n"));
    const std::string dropped = explained(kOutside, kNode, datagrams.node_port, abi::Protocol::kUdp);
    CPPUNIT_ASSERT_MESSAGE(dropped,
                           dropped.find("/udp: holds the port for ns1/svc2:p80 and drops datagrams (") != dropped.npos);
    CPPUNIT_ASSERT_MESSAGE(dropped, dropped.ends_with(" = dropped\n"));
  }

  void a_refused_claim_is_named() {
    ServiceSpec service = example();
    service.node_port = test::free_port(abi::Family::kIpv4);
    const lib::Fd program = test::bound(abi::Family::kIpv4, SOCK_STREAM, {}, service.node_port);
    full({service});
    const std::string passed = explained(kOutside, kNode, service.node_port);
    CPPUNIT_ASSERT_MESSAGE(passed, passed.starts_with("portal rules: redirect no such packet (node port " +
                                                      std::to_string(service.node_port) + "/TCP is in use by "));
    CPPUNIT_ASSERT_MESSAGE(passed, passed.ends_with(" = not proxied\n"));
  }

  void a_socket_that_does_not_listen_rejects() {
    full({example()});
    CPPUNIT_ASSERT_EQUAL(0, shutdown(test::listener_at(rig().port("ns1/svc1")), SHUT_RDWR));
    expect_last("proxy socket PORT/tcp: does not receive the packet (it does not listen) = rejected",
                explained(kPod, "172.30.0.41"));
  }

  void a_rule_to_a_closed_port_rejects() {
    full({example()});
    rig().kernel.foreign(
        "*nat\n-I KUBE-PORTALS-CONTAINER -m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 80 -j REDIRECT "
        "--to-ports 9\nCOMMIT\n");
    const std::string explanation = explained(kPod, "172.30.0.41");
    CPPUNIT_ASSERT_MESSAGE(explanation, explanation.find("redirects to proxy port 9 of ns1/svc1:p80 (not written by "
                                                         "this backend)\n") != explanation.npos);
    expect_last("proxy socket 9/tcp: is not open = rejected", explanation);
  }

  void counters_of_rules_are_shown() {
    full({example(), example(2)});
    rig().kernel.packets[{"nat PREROUTING ", "KUBE-PORTALS-CONTAINER"}] = 5;
    rig().kernel.packets[{"nat KUBE-PORTALS-CONTAINER ", "172.30.0.42"}] = 3;
    const std::string other = explained(kPod, "172.30.0.42");
    CPPUNIT_ASSERT_MESSAGE(other, other.starts_with(arrives + " [5:300]\n"));
    CPPUNIT_ASSERT_MESSAGE(other, other.find(" of ns1/svc2:p80 [3:180]\n") != other.npos);
    const std::string uncounted = explained(kPod, "172.30.0.41");
    CPPUNIT_ASSERT_MESSAGE(uncounted, uncounted.find(" of ns1/svc1:p80\n") != uncounted.npos);
  }

  void rules_that_cannot_be_evaluated_are_named() {
    full({example()});
    rig().kernel.foreign(
        "*nat\n-I KUBE-PORTALS-CONTAINER -m limit --limit 1/sec -j RETURN\n"
        "-I KUBE-PORTALS-CONTAINER -m mark --mark 0x1/0x1 -j RETURN\n"
        "-I KUBE-PORTALS-CONTAINER -m conntrack --ctstate RELATED,ESTABLISHED -j RETURN\nCOMMIT\n");
    expect_last(served + client_seen + kAll +
                    " (not evaluated: rule nat -A KUBE-PORTALS-CONTAINER -m mark --mark 0x1/0x1 -j RETURN, not "
                    "evaluated: rule nat -A KUBE-PORTALS-CONTAINER -m limit --limit 1/sec -j RETURN) = served",
                explained(kPod, "172.30.0.41"));
  }

  void ipv6_is_explained() {
    if (!test::has_ipv6()) return;
    rig_ = std::make_unique<UserspaceRig>(abi::Family::kIpv6);
    ServiceSpec service = example();
    service.cluster_ip = "fd00:30::41";
    service.endpoints = {{"fd00:180::1", 80, true}};
    NodeSpec node;
    node.ip = "fd00:9::2";
    node.detector_cidr = "fd00:2::/64";
    test::ok(rig(), rig().full({service}, node));
    const std::string explanation =
        text(rig().explain("fd00:2::1", "fd00:30::41", 80, abi::Protocol::kTcp, abi::kPacketOfPod));
    expect_last(
        "relay of ns1/svc1:p80: connects to the only endpoint; it sees the address of the client -> "
        "[fd00:180::1]:80 = served",
        explanation);
  }

  void before_the_first_apply_the_call_asks_for_a_retry() {
    CPPUNIT_ASSERT(rig().explain(kPod, "172.30.0.41", 80, abi::Protocol::kTcp, 0).empty());
    CPPUNIT_ASSERT(rig().inspected == abi::Code::kRetry);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(UserspaceExplanationTest);

}  // namespace explanation_test
}  // namespace sluice::userspace
