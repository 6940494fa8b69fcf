// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Node ports that several Services claim (case 133), or that a program has.
#include <cppunit/extensions/HelperMacros.h>

#include <memory>
#include <string>
#include <vector>

#include "test/unit/userspace/backend_rig.hpp"
#include "test/unit/userspace/servers.hpp"

namespace sluice::userspace {
namespace backend_claims_test {

using test::ok;
using test::ServiceSpec;

constexpr abi::Family kV4 = abi::Family::kIpv4;

class BackendClaimsTest : public test::UserspaceFixture {
  CPPUNIT_TEST_SUITE(BackendClaimsTest);
  CPPUNIT_TEST(a_conflicting_service_is_served_without_its_node_port);
  CPPUNIT_TEST(tcp_and_udp_can_have_the_same_node_port);
  CPPUNIT_TEST(a_released_node_port_passes_to_the_waiting_service_at_once);
  CPPUNIT_TEST(a_changed_node_port_passes_to_the_waiting_service);
  CPPUNIT_TEST(a_waiting_service_can_change);
  CPPUNIT_TEST(a_node_port_held_by_a_program_is_retried);
  CPPUNIT_TEST(only_local_addresses_are_claimed);
  CPPUNIT_TEST(only_addresses_that_serve_node_ports_are_claimed);
  CPPUNIT_TEST(node_ports_without_endpoints_are_claimed);
  CPPUNIT_TEST(claims_end_with_the_process);
  CPPUNIT_TEST(a_reactivated_backend_does_not_share_claims_with_itself);
  CPPUNIT_TEST_SUITE_END();

  const std::uint16_t node_port_ = test::free_port(kV4);

  ServiceSpec service(const std::string& name, abi::Protocol protocol = abi::Protocol::kTcp) const {
    ServiceSpec spec;
    spec.name = name;
    spec.protocol = protocol;
    spec.cluster_ip = "172.30.0." + std::to_string(name.back());
    spec.node_port = node_port_;
    spec.endpoints = {test::kRefusing};
    return spec;
  }
  std::size_t node_port_rules(const std::string& name) const {
    return rig().rules(name, "--dport " + std::to_string(node_port_) + " ");
  }
  bool is_free(int type) const { return static_cast<bool>(test::bound(kV4, type, {}, node_port_)); }
  std::string conflict(const std::string& rest) const {
    return "not served there: node port " + std::to_string(node_port_) + "/TCP " + rest;
  }

  void a_conflicting_service_is_served_without_its_node_port() {
    ok(rig().full({service("svc1"), service("svc2")}));
    CPPUNIT_ASSERT(node_port_rules("ns1/svc1") > 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, node_port_rules("ns1/svc2"));
    CPPUNIT_ASSERT(rig().rules("ns1/svc2", "--dport 80 ") > 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig().host.failed.size());
    CPPUNIT_ASSERT_EQUAL(conflict("belongs to Service port ns1/svc1:p80; give one of them another port"),
                         rig().host.failed["ns1/svc2:p80"]);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig().host.failed.size());
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
    // The same transaction again: no port changes its holder, nothing is written.
    ok(rig().full({service("svc1"), service("svc2")}));
    CPPUNIT_ASSERT(rig().kernel.restores.empty());
  }

  void tcp_and_udp_can_have_the_same_node_port() {
    ok(rig().full({service("svc1"), service("svc2", abi::Protocol::kUdp)}));
    CPPUNIT_ASSERT(rig().host.failed.empty());
    CPPUNIT_ASSERT(node_port_rules("ns1/svc1") > 0);
    CPPUNIT_ASSERT(node_port_rules("ns1/svc2") > 0);
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
    CPPUNIT_ASSERT(!is_free(SOCK_DGRAM));
  }

  void a_released_node_port_passes_to_the_waiting_service_at_once() {
    ok(rig().full({service("svc1"), service("svc2")}));
    bool held = false;
    rig().kernel.before_restore = [&](const std::string&) { held = !is_free(SOCK_STREAM); };
    ok(rig().delta({}, {service("svc1")}));
    CPPUNIT_ASSERT(held);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, node_port_rules("ns1/svc1"));
    CPPUNIT_ASSERT(node_port_rules("ns1/svc2") > 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig().kernel.restores.size());
    CPPUNIT_ASSERT(rig().host.failed.empty());
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
    // The daemon learns at once that the service port is programmed.
    CPPUNIT_ASSERT(rig().host.resyncs.empty());
    CPPUNIT_ASSERT(std::vector<std::string>{"ns1/svc2:p80/tcp"} == rig().host.by_now_served);
    ok(rig().full({service("svc2")}));
    CPPUNIT_ASSERT(rig().kernel.restores.empty());
    rig().kernel.before_restore = nullptr;
    ok(rig().full({}));
    CPPUNIT_ASSERT(is_free(SOCK_STREAM));
  }

  void a_changed_node_port_passes_to_the_waiting_service() {
    ok(rig().full({service("svc1"), service("svc2")}));
    ServiceSpec changed = service("svc1");
    changed.node_port = 0;
    ok(rig().delta({changed}));
    CPPUNIT_ASSERT(node_port_rules("ns1/svc2") > 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, node_port_rules("ns1/svc1"));
    // Now the other Service waits.
    ok(rig().delta({service("svc1")}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, node_port_rules("ns1/svc1"));
    CPPUNIT_ASSERT(rig().host.failed.contains("ns1/svc1:p80"));
  }

  void a_waiting_service_can_change() {
    ok(rig().full({service("svc1"), service("svc2")}));
    ServiceSpec changed = service("svc2");
    changed.port = 81;
    ok(rig().delta({changed}));
    CPPUNIT_ASSERT(rig().host.failed.contains("ns1/svc2:p80"));
    ok(rig().delta({}, {service("svc1")}));
    CPPUNIT_ASSERT(node_port_rules("ns1/svc2") > 0);
    CPPUNIT_ASSERT(rig().rules("ns1/svc2", "--dport 81 ") > 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig().rules("ns1/svc2", "--dport 80 "));
    ok(rig().delta({}, {changed}));
    CPPUNIT_ASSERT(is_free(SOCK_STREAM));
  }

  void a_node_port_held_by_a_program_is_retried() {
    lib::Fd program = test::bound(kV4, SOCK_STREAM, {}, node_port_);
    CPPUNIT_ASSERT_EQUAL(0, listen(program.get(), 1));
    ok(rig().full({service("svc1")}));
    CPPUNIT_ASSERT_EQUAL(conflict("is in use by this process; stop it, or give the Service another port"),
                         rig().host.failed["ns1/svc1:p80"]);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, node_port_rules("ns1/svc1"));
    program.reset();
    ok(rig().full({service("svc1")}));
    CPPUNIT_ASSERT(rig().host.failed.empty());
    CPPUNIT_ASSERT(node_port_rules("ns1/svc1") > 0);
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
  }

  void only_local_addresses_are_claimed() {
    const lib::Fd program = test::bound(kV4, SOCK_STREAM, test::loopback(kV4), node_port_);
    ServiceSpec here = service("svc1");
    here.node_port = 0;
    here.port = node_port_;
    here.external_ips = {"127.0.0.1"};
    test::NodeSpec node;
    ok(rig().full({here}, node));
    CPPUNIT_ASSERT(rig().host.failed.empty());
    node.local_addresses = {"127.0.0.1"};
    ok(rig().full({here}, node));
    CPPUNIT_ASSERT_EQUAL("not served there: local address 127.0.0.1:" + std::to_string(node_port_) +
                             "/TCP is in use by a program of this node; stop it, or give the Service another port",
                         rig().host.failed["ns1/svc1:p80"]);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig().rules("ns1/svc1", "-d 127.0.0.1/32"));
    CPPUNIT_ASSERT(rig().rules("ns1/svc1", "-d 172.30.0.49/32") > 0);
  }

  void only_addresses_that_serve_node_ports_are_claimed() {
    const lib::Fd program = test::bound(kV4, SOCK_STREAM, *sdk::parse_address("127.0.0.2", kV4), node_port_);
    test::NodeSpec node;
    node.flags = abi::kNodePortsOnLocalhost;
    node.node_port_addresses = {"127.0.0.1"};
    ok(rig().full({service("svc1")}, node));
    CPPUNIT_ASSERT(rig().host.failed.empty());
    CPPUNIT_ASSERT(!test::bound(kV4, SOCK_STREAM, test::loopback(kV4), node_port_));
    node.node_port_addresses = {"127.0.0.1", "127.0.0.2"};
    ok(rig().full({service("svc1")}, node));
    CPPUNIT_ASSERT(rig().host.failed.contains("ns1/svc1:p80"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, node_port_rules("ns1/svc1"));
  }

  void node_ports_without_endpoints_are_claimed() {
    ServiceSpec first = service("svc1");
    first.endpoints.clear();
    ok(rig().full({first, service("svc2")}));
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
    CPPUNIT_ASSERT(node_port_rules("ns1/svc1") > 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, node_port_rules("ns1/svc2"));
    first.endpoints = {test::kRefusing};
    ok(rig().delta({first}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, node_port_rules("ns1/svc2"));
    ok(rig().delta({}, {first}));
    CPPUNIT_ASSERT(node_port_rules("ns1/svc2") > 0);
  }

  void claims_end_with_the_process() {
    ok(rig().full({service("svc1")}));
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
    rig().stop();
    CPPUNIT_ASSERT(is_free(SOCK_STREAM));
    CPPUNIT_ASSERT(node_port_rules("ns1/svc1") > 0);
  }

  // The backend has begun to retire, and the new backend has failed.
  void a_reactivated_backend_does_not_share_claims_with_itself() {
    rig().host.descriptors = std::make_unique<test::FakeDescriptors>();
    rig().flags = abi::kCreatePredecessorServes;
    ok(rig().full({service("a")}));
    CPPUNIT_ASSERT_EQUAL(static_cast<std::int32_t>(abi::Code::kRetry),
                         static_cast<std::int32_t>(rig().retire(rig().backend(), 60, {"ipset/*"})));
    ok(rig().full({service("a")}));
    CPPUNIT_ASSERT(rig().host.failed.empty());
    ok(rig().full({}));
    CPPUNIT_ASSERT(rig().host.descriptors->all().empty());
    CPPUNIT_ASSERT(is_free(SOCK_STREAM));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(BackendClaimsTest);

}  // namespace backend_claims_test
}  // namespace sluice::userspace
