// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The order in which sockets, endpoints and rules change, and what does not change.
#include <cppunit/extensions/HelperMacros.h>
#include <poll.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "test/unit/userspace/backend_rig.hpp"
#include "test/unit/userspace/servers.hpp"

namespace sluice::userspace {
namespace backend_test {

using test::ask;
using test::ask_again;
using test::named;
using test::ok;
using test::Server;
using test::ServiceSpec;
using test::UserspaceRig;

constexpr abi::Family kV4 = abi::Family::kIpv4;

void needs_full(abi::Code code) { CPPUNIT_ASSERT(code == abi::Code::kNeedFull); }

class BackendTest : public test::UserspaceFixture {
  CPPUNIT_TEST_SUITE(BackendTest);
  CPPUNIT_TEST(the_proxy_port_serves_before_rules_are_written);
  CPPUNIT_TEST(endpoints_change_without_the_kernel);
  CPPUNIT_TEST(the_last_endpoint_serves_until_connections_are_rejected);
  CPPUNIT_TEST(an_open_connection_outlives_the_last_endpoint);
  CPPUNIT_TEST(udp_flows_to_the_last_local_endpoint_are_dropped);
  CPPUNIT_TEST(addresses_change_without_the_sockets);
  CPPUNIT_TEST(a_removed_service_loses_its_rules_before_its_port);
  CPPUNIT_TEST(each_endpoint_list_has_its_own_proxy_port);
  CPPUNIT_TEST(udp_and_tcp_ports_of_one_name_are_separate);
  CPPUNIT_TEST(a_udp_client_of_a_removed_endpoint_is_dropped);
  CPPUNIT_TEST(a_udp_flow_stays_with_its_endpoint_while_others_change);
  CPPUNIT_TEST(a_udp_flow_stays_with_a_terminating_endpoint_that_serves);
  CPPUNIT_TEST(udp_proxy_ports_are_reported_to_the_daemon);
  CPPUNIT_TEST(works_with_a_daemon_without_relay_extension);
  CPPUNIT_TEST(ipv6_is_served);
  CPPUNIT_TEST(a_restart_listens_at_the_same_ports_and_writes_nothing);
  CPPUNIT_TEST(a_new_service_does_not_take_the_port_of_a_returning_one);
  CPPUNIT_TEST(a_service_without_proxy_port_is_not_programmed_and_retried);
  CPPUNIT_TEST(sctp_is_not_programmed);
  CPPUNIT_TEST(refused_rules_leave_the_others_in_place);
  CPPUNIT_TEST(a_failed_write_is_repaired_by_the_next_full);
  CPPUNIT_TEST(a_wrong_base_generation_requires_a_full_transaction);
  CPPUNIT_TEST(changed_node_facts_require_a_full_transaction);
  CPPUNIT_TEST(drift_requires_a_full_transaction_and_keeps_ports);
  CPPUNIT_TEST(retire_keeps_claimed_chains_and_ends);
  CPPUNIT_TEST(cleanup_removes_everything);
  CPPUNIT_TEST(metrics_are_reported);
  CPPUNIT_TEST_SUITE_END();

  void the_proxy_port_serves_before_rules_are_written() {
    const Server a('a', SOCK_STREAM);
    bool was_served = false;
    rig().kernel.before_restore = [&](const std::string& input) {
      for (const std::uint16_t port : UserspaceRig::ports_in(input, "ns1/svc1")) {
        CPPUNIT_ASSERT_EQUAL('a', ask(port, SOCK_STREAM, &a));
        was_served = true;
      }
    };
    ok(rig().full({named("svc1", {a.endpoint()})}));
    CPPUNIT_ASSERT(was_served);
    CPPUNIT_ASSERT(rig().result.kernel_writes > 0);
    CPPUNIT_ASSERT(rig().result.objects_owned > 0);
    CPPUNIT_ASSERT(rig().host.failed.empty());
  }

  void endpoints_change_without_the_kernel() {
    const Server a('a', SOCK_STREAM);
    const Server b('b', SOCK_STREAM);
    ok(rig().full({named("svc1", {a.endpoint()}), named("svc2")}));
    const std::uint16_t port = rig().port("ns1/svc1");
    CPPUNIT_ASSERT_EQUAL('a', ask(port, SOCK_STREAM, &a));
    ok(rig().delta({named("svc1", {b.endpoint()})}));
    CPPUNIT_ASSERT(rig().kernel.restores.empty());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig().result.kernel_writes);
    CPPUNIT_ASSERT_EQUAL('b', ask(port, SOCK_STREAM, &b));
  }

  void the_last_endpoint_serves_until_connections_are_rejected() {
    const Server a('a', SOCK_STREAM);
    ServiceSpec udp = named("svc1");
    udp.protocol = abi::Protocol::kUdp;
    ok(rig().full({named("svc1", {a.endpoint()}), udp}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig().rules("ns1/svc1", "REJECT"));
    std::set<std::uint16_t> open = rig().ports("ns1/svc1");
    bool was_served = false;
    rig().kernel.before_restore = [&](const std::string&) {
      for (const std::uint16_t port : open) was_served = ask(port, SOCK_STREAM, &a) == 'a' || was_served;
    };
    udp.endpoints.clear();
    ok(rig().delta({named("svc1", {}), udp}));
    rig().kernel.before_restore = nullptr;
    CPPUNIT_ASSERT(was_served);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig().rules("ns1/svc1", "REJECT"));
    CPPUNIT_ASSERT(rig().ports("ns1/svc1").empty());
    CPPUNIT_ASSERT(rig().host.relayed["ns1/svc1:p80"].empty());
    for (const std::uint16_t port : open) {
      CPPUNIT_ASSERT_EQUAL(ECONNREFUSED, test::connect_error(kV4, port));
      CPPUNIT_ASSERT(test::bound(kV4, SOCK_DGRAM, test::loopback(kV4), port));
    }
    ok(rig().delta({named("svc1", {})}));
    CPPUNIT_ASSERT(rig().kernel.restores.empty());
    // The proxy port is open before the first client is redirected.
    was_served = false;
    rig().kernel.before_restore = [&](const std::string& input) {
      for (const std::uint16_t port : UserspaceRig::ports_in(input, "ns1/svc1")) {
        was_served = ask(port, SOCK_STREAM, &a) == 'a';
      }
    };
    ok(rig().delta({named("svc1", {a.endpoint()})}));
    CPPUNIT_ASSERT(was_served);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig().rules("ns1/svc1", "REJECT"));
  }

  void an_open_connection_outlives_the_last_endpoint() {
    const Server a('a', SOCK_STREAM);
    ok(rig().full({named("svc1", {a.endpoint()})}));
    const std::uint16_t port = rig().port("ns1/svc1");
    const lib::Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const SocketAddress to(kV4, test::loopback(kV4), port);
    CPPUNIT_ASSERT_EQUAL(0, connect(client.get(), to.get(), to.size()));
    ok(rig().delta({named("svc1", {})}));
    CPPUNIT_ASSERT_EQUAL(ECONNREFUSED, test::connect_error(kV4, port));
    CPPUNIT_ASSERT_EQUAL('a', ask_again(client, SOCK_STREAM, &a));
  }

  void udp_flows_to_the_last_local_endpoint_are_dropped() {
    const Server here('h', SOCK_DGRAM);
    const Server there('t', SOCK_DGRAM);
    for (const abi::Protocol protocol : {abi::Protocol::kUdp, abi::Protocol::kTcp}) {
      const bool udp = protocol == abi::Protocol::kUdp;
      ServiceSpec spec = named("svc1", {here.endpoint(true), there.endpoint()});
      spec.protocol = protocol;
      spec.internal_local = true;
      ok(rig().full({spec}));
      const std::uint16_t port = rig().port("ns1/svc1");
      const auto is_open = [&] {
        return !test::bound(kV4, udp ? SOCK_DGRAM : SOCK_STREAM, test::loopback(kV4), port);
      };
      const ServiceSpec before = spec;
      spec.endpoints = {there.endpoint()};
      ok(rig().delta({spec}));
      CPPUNIT_ASSERT(rig().ports("ns1/svc1").empty());
      CPPUNIT_ASSERT_EQUAL(udp, is_open());
      if (udp) {
        ok(rig().delta({before}));
        CPPUNIT_ASSERT_EQUAL(port, rig().port("ns1/svc1"));
        ok(rig().delta({spec}));
      }
      spec.endpoints.clear();
      ok(rig().delta({spec}));
      CPPUNIT_ASSERT(!is_open());
      ok(rig().full({}));
    }
  }

  void addresses_change_without_the_sockets() {
    ServiceSpec spec = named("svc1");
    ok(rig().full({spec}));
    const std::uint16_t port = rig().port("ns1/svc1");
    spec.external_ips = {"192.0.2.7"};
    spec.port = 81;
    ok(rig().delta({spec}));
    CPPUNIT_ASSERT_EQUAL(port, rig().port("ns1/svc1"));
    CPPUNIT_ASSERT(rig().rules("ns1/svc1", "192.0.2.7") > 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig().rules("ns1/svc1", "--dport 80 "));
  }

  void a_removed_service_loses_its_rules_before_its_port() {
    const Server a('a', SOCK_STREAM);
    ok(rig().full({named("svc1", {a.endpoint()}), named("svc2")}));
    const std::uint16_t port = rig().port("ns1/svc1");
    char before = '?';
    rig().kernel.before_restore = [&](const std::string&) { before = ask(port, SOCK_STREAM, &a); };
    ok(rig().delta({}, {named("svc1")}));
    CPPUNIT_ASSERT_EQUAL('a', before);
    CPPUNIT_ASSERT(rig().ports("ns1/svc1").empty());
    CPPUNIT_ASSERT_EQUAL(ECONNREFUSED, test::connect_error(kV4, port));
    rig().kernel.before_restore = nullptr;
    const std::uint16_t other = rig().port("ns1/svc2");
    ok(rig().full({}));
    CPPUNIT_ASSERT_EQUAL(ECONNREFUSED, test::connect_error(kV4, other));
  }

  void each_endpoint_list_has_its_own_proxy_port() {
    const Server here('h', SOCK_STREAM);
    const Server there('t', SOCK_STREAM);
    ServiceSpec spec = named("svc1", {here.endpoint(true), there.endpoint()});
    spec.internal_local = true;
    ok(rig().full({spec}));
    const std::uint16_t local = rig().port("ns1/svc1");
    for (int i = 0; i < 3; ++i) CPPUNIT_ASSERT_EQUAL('h', ask(local, SOCK_STREAM, &here));
    spec.internal_local = false;
    spec.vips = {"192.0.2.8"};
    spec.external_local = true;
    spec.endpoints = {here.endpoint(true)};
    ok(rig().delta({spec}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig().ports("ns1/svc1").size());
    CPPUNIT_ASSERT(rig().ports("ns1/svc1").contains(local));
    for (const std::uint16_t port : rig().ports("ns1/svc1")) {
      CPPUNIT_ASSERT_EQUAL('h', ask(port, SOCK_STREAM, &here));
    }
    spec.external_local = false;
    ok(rig().delta({spec}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig().ports("ns1/svc1").size());
    CPPUNIT_ASSERT_EQUAL(ECONNREFUSED, test::connect_error(kV4, local));
  }

  void udp_and_tcp_ports_of_one_name_are_separate() {
    const Server a('a', SOCK_STREAM);
    const Server b('b', SOCK_DGRAM);
    ServiceSpec udp = named("svc1", {b.endpoint()});
    udp.protocol = abi::Protocol::kUdp;
    ok(rig().full({named("svc1", {a.endpoint()}), udp}));
    bool tcp_seen = false;
    bool udp_seen = false;
    for (const std::uint16_t port : rig().ports("ns1/svc1")) {
      if (test::bound(kV4, SOCK_DGRAM, test::loopback(kV4), port)) {
        tcp_seen = ask(port, SOCK_STREAM, &a) == 'a';
      } else {
        udp_seen = ask(port, SOCK_DGRAM, &b) == 'b';
      }
    }
    // The kernel may choose the same number for both.
    CPPUNIT_ASSERT(udp_seen);
    CPPUNIT_ASSERT(tcp_seen || rig().ports("ns1/svc1").size() == 1);
    ok(rig().delta({}, {udp}));
    CPPUNIT_ASSERT_EQUAL('a', ask(rig().port("ns1/svc1"), SOCK_STREAM, &a));
  }

  void a_udp_client_of_a_removed_endpoint_is_dropped() {
    const Server a('a', SOCK_DGRAM);
    const Server b('b', SOCK_DGRAM);
    rig().settings.relay.udp_timeout = std::chrono::hours(1);
    ServiceSpec udp = named("svc1", {a.endpoint()});
    udp.protocol = abi::Protocol::kUdp;
    ok(rig().full({udp}));
    const lib::Fd client(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const SocketAddress to(kV4, test::loopback(kV4), rig().port("ns1/svc1"));
    CPPUNIT_ASSERT_EQUAL(0, connect(client.get(), to.get(), to.size()));
    CPPUNIT_ASSERT_EQUAL('a', ask_again(client, SOCK_DGRAM, &a));
    udp.endpoints = {b.endpoint()};
    ok(rig().delta({udp}));
    CPPUNIT_ASSERT_EQUAL('b', ask_again(client, SOCK_DGRAM, &b));
  }

  // Sends and receives as one client of a Service until the test ends.
  lib::Fd udp_client_of(const ServiceSpec& udp) {
    ok(rig().full({udp}));
    lib::Fd client(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const SocketAddress to(kV4, test::loopback(kV4), rig().port("ns1/svc1"));
    CPPUNIT_ASSERT_EQUAL(0, connect(client.get(), to.get(), to.size()));
    return client;
  }
  static test::EndpointSpec in_condition(test::EndpointSpec endpoint, test::Condition condition) {
    endpoint.condition = condition;
    return endpoint;
  }

  void a_udp_flow_stays_with_its_endpoint_while_others_change() {
    const Server a('a', SOCK_DGRAM);
    const Server b('b', SOCK_DGRAM);
    const Server c('c', SOCK_DGRAM);
    ServiceSpec udp = named("svc1", {a.endpoint()});
    udp.protocol = abi::Protocol::kUdp;
    const lib::Fd client = udp_client_of(udp);
    CPPUNIT_ASSERT_EQUAL('a', ask_again(client, SOCK_DGRAM, &a));
    const std::uint16_t before = a.last_client();
    for (int round = 0; round < 5; ++round) {
      for (const auto& beside : {std::vector{b.endpoint(), c.endpoint()}, std::vector{c.endpoint()}}) {
        udp.endpoints = beside;
        udp.endpoints.push_back(a.endpoint());
        ok(rig().delta({udp}));
        CPPUNIT_ASSERT_EQUAL('a', ask_again(client, SOCK_DGRAM, &a));
        CPPUNIT_ASSERT_EQUAL(before, a.last_client());
      }
    }
  }

  // As with connection tracking in kernel modes (BEH case 109).
  void a_udp_flow_stays_with_a_terminating_endpoint_that_serves() {
    const Server a('a', SOCK_DGRAM);
    const Server b('b', SOCK_DGRAM);
    ServiceSpec udp = named("svc1", {a.endpoint()});
    udp.protocol = abi::Protocol::kUdp;
    const lib::Fd client = udp_client_of(udp);
    CPPUNIT_ASSERT_EQUAL('a', ask_again(client, SOCK_DGRAM, &a));
    const std::uint16_t before = a.last_client();
    for (const test::Condition now : {test::Condition::kTerminating, test::Condition::kReady,
                                      test::Condition::kTerminating}) {
      udp.endpoints = {in_condition(a.endpoint(), now), b.endpoint()};
      ok(rig().delta({udp}));
      CPPUNIT_ASSERT_EQUAL('a', ask_again(client, SOCK_DGRAM, &a));
      CPPUNIT_ASSERT_EQUAL(before, a.last_client());
    }
    CPPUNIT_ASSERT_EQUAL('b', ask(rig().port("ns1/svc1"), SOCK_DGRAM, &b));  // a new flow
    udp.endpoints = {in_condition(a.endpoint(), test::Condition::kGone), b.endpoint()};
    ok(rig().delta({udp}));
    CPPUNIT_ASSERT_EQUAL('b', ask_again(client, SOCK_DGRAM, &b));
  }

  void udp_proxy_ports_are_reported_to_the_daemon() {
    ServiceSpec udp = named("svc1");
    udp.protocol = abi::Protocol::kUdp;
    ok(rig().full({udp, named("svc2")}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig().host.relayed.size());
    CPPUNIT_ASSERT(std::vector{rig().port("ns1/svc1")} == rig().host.relayed["ns1/svc1:p80"]);
    rig().host.relayed.clear();
    ok(rig().delta({named("svc2")}));
    CPPUNIT_ASSERT(rig().host.relayed.empty());
    ok(rig().delta({udp}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig().host.relayed.size());
  }

  void works_with_a_daemon_without_relay_extension() {
    rig().host.relays_known = false;
    ServiceSpec udp = named("svc1");
    udp.protocol = abi::Protocol::kUdp;
    ok(rig().full({udp}));
    CPPUNIT_ASSERT(rig().port("ns1/svc1") != 0);
  }

  void ipv6_is_served() {
    if (!test::has_ipv6()) return;
    UserspaceRig v6(abi::Family::kIpv6);
    ServiceSpec spec = named("svc1", {{"::1", 9, false, test::Condition::kReady}});
    spec.cluster_ip = "fd00::1";
    test::NodeSpec node;
    node.ip = "fd00::2";
    node.detector = abi::LocalDetectorKind::kNone;
    ok(v6.full({spec}, node));
    CPPUNIT_ASSERT_EQUAL(0, test::connect_error(abi::Family::kIpv6, v6.port("ns1/svc1")));
  }

  void a_restart_listens_at_the_same_ports_and_writes_nothing() {
    const Server a('a', SOCK_STREAM);
    const Server b('b', SOCK_DGRAM);
    ServiceSpec udp = named("svc2", {b.endpoint()});
    udp.protocol = abi::Protocol::kUdp;
    ServiceSpec both = named("svc3", {a.endpoint(true)});
    both.external_local = true;
    both.vips = {"192.0.2.9"};
    const std::vector<ServiceSpec> all{named("svc1", {a.endpoint()}), udp, both};
    ok(rig().full(all));
    const std::string before = rig().kernel.text();
    CPPUNIT_ASSERT_EQUAL('a', ask(rig().port("ns1/svc1"), SOCK_STREAM, &a));
    rig().stop();
    CPPUNIT_ASSERT_EQUAL(ECONNREFUSED, test::connect_error(kV4, rig().port("ns1/svc1")));
    ok(rig().full(all));
    CPPUNIT_ASSERT(rig().kernel.restores.empty());
    CPPUNIT_ASSERT_EQUAL(before, rig().kernel.text());
    CPPUNIT_ASSERT_EQUAL('a', ask(rig().port("ns1/svc1"), SOCK_STREAM, &a));
    CPPUNIT_ASSERT_EQUAL('b', ask(rig().port("ns1/svc2"), SOCK_DGRAM, &b));
  }

  void a_new_service_does_not_take_the_port_of_a_returning_one() {
    const std::uint16_t low = test::free_port(kV4);
    rig().settings.proxy_ports = {low, low};
    ok(rig().full({named("svc2")}));
    CPPUNIT_ASSERT_EQUAL(low, rig().port("ns1/svc2"));
    rig().stop();
    ok(rig().full({named("svc1"), named("svc2")}));
    CPPUNIT_ASSERT_EQUAL(low, rig().port("ns1/svc2"));
    CPPUNIT_ASSERT(rig().host.failed.contains("ns1/svc1:p80"));
  }

  void a_service_without_proxy_port_is_not_programmed_and_retried() {
    const std::uint16_t low = test::free_port(kV4);
    rig().settings.proxy_ports = {low, low};
    ok(rig().full({named("svc1"), named("svc2")}));
    CPPUNIT_ASSERT_EQUAL(low, rig().port("ns1/svc1"));
    CPPUNIT_ASSERT(rig().ports("ns1/svc2").empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig().host.failed.size());
    const std::string range = std::to_string(low) + "-" + std::to_string(low);
    CPPUNIT_ASSERT_EQUAL("all ports of --proxy-port-range " + range + " are in use; widen it",
                         rig().host.failed["ns1/svc2:p80"]);
    ok(rig().delta({}, {named("svc1")}));
    ok(rig().verify());
    ok(rig().full({named("svc2")}));
    CPPUNIT_ASSERT_EQUAL(low, rig().port("ns1/svc2"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig().host.failed.size());
  }

  void sctp_is_not_programmed() {
    ServiceSpec sctp = named("svc1");
    sctp.protocol = abi::Protocol::kSctp;
    ok(rig().full({sctp, named("svc2")}));
    CPPUNIT_ASSERT_EQUAL(std::string("userspace mode relays TCP and UDP only; use another mode for SCTP"),
                         rig().host.failed["ns1/svc1:p80"]);
    CPPUNIT_ASSERT(rig().ports("ns1/svc1").empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig().ports("ns1/svc2").size());
    ok(rig().delta({}, {sctp}));
  }

  void refused_rules_leave_the_others_in_place() {
    rig().kernel.refuse = {"ns1/svc1"};
    ok(rig().full({named("svc1"), named("svc2")}));
    CPPUNIT_ASSERT(rig().host.failed.contains("ns1/svc1:p80"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig().host.failed.size());
    CPPUNIT_ASSERT(rig().ports("ns1/svc1").empty());
    CPPUNIT_ASSERT_EQUAL(0, test::connect_error(kV4, rig().port("ns1/svc2")));
    rig().kernel.refuse.clear();
    ok(rig().delta({named("svc1")}));
    CPPUNIT_ASSERT_EQUAL(0, test::connect_error(kV4, rig().port("ns1/svc1")));
  }

  void a_failed_write_is_repaired_by_the_next_full() {
    ok(rig().full({named("svc1")}));
    const std::uint16_t port = rig().port("ns1/svc1");
    rig().kernel.fail_next = 4;
    CPPUNIT_ASSERT(rig().delta({named("svc2")}, {named("svc1")}) == abi::Code::kRetry);
    // Rules still redirect there.
    CPPUNIT_ASSERT_EQUAL(0, test::connect_error(kV4, port));
    needs_full(rig().delta({named("svc2")}));
    needs_full(rig().verify());
    ok(rig().full({named("svc2")}));
    CPPUNIT_ASSERT_EQUAL(ECONNREFUSED, test::connect_error(kV4, port));
    CPPUNIT_ASSERT_EQUAL(0, test::connect_error(kV4, rig().port("ns1/svc2")));
  }

  void a_wrong_base_generation_requires_a_full_transaction() {
    needs_full(rig().delta({named("svc1")}));
    ok(rig().full({named("svc1")}));
    ++rig().generation;
    needs_full(rig().delta({named("svc1")}));
    ok(rig().full({named("svc1")}));
    CPPUNIT_ASSERT(rig().kernel.restores.empty());
  }

  void changed_node_facts_require_a_full_transaction() {
    ServiceSpec spec = named("svc1");
    spec.external_ips = {"192.0.2.7"};
    test::NodeSpec node;
    node.local_addresses = {"192.168.0.2"};
    ok(rig().full({spec}, node));
    node.local_addresses = {"192.168.0.2", "192.168.7.7"};
    ok(rig().delta({}, {}, node));
    node.local_addresses = {"192.0.2.7", "192.168.0.2", "192.168.7.7"};
    needs_full(rig().delta({}, {}, node));
    ok(rig().full({spec}, node));
    node.local_addresses = {"192.168.0.2"};
    needs_full(rig().delta({}, {}, node));
    ok(rig().full({spec}, node));
    node.flags = 0;
    node.node_port_addresses = {"192.168.0.2"};
    needs_full(rig().delta({}, {}, node));
  }

  void drift_requires_a_full_transaction_and_keeps_ports() {
    ok(rig().full({named("svc1")}));
    const std::uint16_t port = rig().port("ns1/svc1");
    ok(rig().verify());
    rig().kernel.foreign("*nat\n-F KUBE-PORTALS-CONTAINER\nCOMMIT\n");
    rig().host.pass(60);
    needs_full(rig().verify());
    ok(rig().full({named("svc1")}));
    CPPUNIT_ASSERT_EQUAL(port, rig().port("ns1/svc1"));
    rig().host.pass(60);
    ok(rig().verify());
  }

  void retire_keeps_claimed_chains_and_ends() {
    ok(rig().full({named("svc1")}));
    const std::uint16_t port = rig().port("ns1/svc1");
    const std::string kept = "iptables/nat/KUBE-PORTALS-HOST";
    const abi::StringView view = sdk::view(kept);
    abi::Handover handover{};
    handover.struct_size = sizeof(handover);
    handover.claims = sdk::array(&view, 1);
    ok(rig().backend().retire(&handover, &rig().error));
    CPPUNIT_ASSERT(rig().kernel.has("nat", "KUBE-PORTALS-HOST"));
    CPPUNIT_ASSERT(!rig().kernel.has("nat", "KUBE-PORTALS-CONTAINER"));
    CPPUNIT_ASSERT_EQUAL(ECONNREFUSED, test::connect_error(kV4, port));
  }

  void cleanup_removes_everything() {
    const std::string before = rig().kernel.text();
    ok(rig().full({named("svc1")}));
    rig().stop();
    ok(rig().backend().cleanup(&rig().error));
    CPPUNIT_ASSERT_EQUAL(before, rig().kernel.text());
  }

  void metrics_are_reported() {
    ok(rig().full({named("svc1")}));
    CPPUNIT_ASSERT(rig().result.kernel_nanoseconds > 0);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(BackendTest);

}  // namespace backend_test
}  // namespace sluice::userspace
