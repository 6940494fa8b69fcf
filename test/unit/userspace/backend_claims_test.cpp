// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Ports of the node that several want: case 133, and programs that have them.
#include <cppunit/extensions/HelperMacros.h>

#include <memory>
#include <string>
#include <vector>

#include "test/unit/userspace/backend_bench.hpp"

namespace sluice::userspace {
namespace backend_claims_test {

using test::BackendBench;
using test::ServiceSpec;

constexpr abi::Family kV4 = abi::Family::kIpv4;

void ok(abi::Code code) { CPPUNIT_ASSERT_EQUAL(std::int32_t{0}, static_cast<std::int32_t>(code)); }

class BackendClaimsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(BackendClaimsTest);
  CPPUNIT_TEST(the_second_service_is_served_but_for_the_node_port);
  CPPUNIT_TEST(the_other_protocol_has_the_port_too);
  CPPUNIT_TEST(who_waits_gets_it_in_the_same_transaction);
  CPPUNIT_TEST(who_waits_gets_it_when_the_port_is_changed);
  CPPUNIT_TEST(who_waits_may_change_meanwhile);
  CPPUNIT_TEST(a_port_of_a_program_is_tried_again);
  CPPUNIT_TEST(a_local_address_is_claimed_and_others_are_not);
  CPPUNIT_TEST(only_addresses_that_serve_node_ports_are_claimed);
  CPPUNIT_TEST(claims_end_with_the_process);
  CPPUNIT_TEST(a_backend_that_serves_again_does_not_share_with_itself);
  CPPUNIT_TEST_SUITE_END();

  // Fixtures live until all tests have run; backends are not to.
  std::unique_ptr<BackendBench> made_;

 public:
  void setUp() override { made_ = std::make_unique<BackendBench>(); }
  void tearDown() override { made_ = nullptr; }

 private:
  BackendBench& bench() const { return *made_; }
  const std::uint16_t node_port_ = test::free_port(kV4);

  ServiceSpec service(const std::string& name, abi::Protocol protocol = abi::Protocol::kTcp) const {
    ServiceSpec spec;
    spec.name = name;
    spec.protocol = protocol;
    spec.cluster_ip = "172.30.0." + std::to_string(name.back());
    spec.node_port = node_port_;
    return spec;
  }
  std::size_t node_port_rules(const std::string& name) const {
    return bench().rules(name, "--dport " + std::to_string(node_port_) + " ");
  }
  bool is_free(int type) const { return static_cast<bool>(test::bound(kV4, type, {}, node_port_)); }
  std::string conflict(const std::string& rest) const {
    return "not served there: node port " + std::to_string(node_port_) + "/TCP " + rest;
  }

  void the_second_service_is_served_but_for_the_node_port() {
    ok(bench().full({service("svc1"), service("svc2")}));
    CPPUNIT_ASSERT(node_port_rules("ns1/svc1") > 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, node_port_rules("ns1/svc2"));
    CPPUNIT_ASSERT(bench().rules("ns1/svc2", "--dport 80 ") > 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench().host.failed.size());
    CPPUNIT_ASSERT_EQUAL(conflict("belongs to Service port ns1/svc1:p80; give one of them another port"),
                         bench().host.failed["ns1/svc2:p80"]);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench().host.failed.size());
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
    // Equal: nobody changes places, nothing is written.
    ok(bench().full({service("svc1"), service("svc2")}));
    CPPUNIT_ASSERT(bench().kernel.restores.empty());
  }

  void the_other_protocol_has_the_port_too() {
    ok(bench().full({service("svc1"), service("svc2", abi::Protocol::kUdp)}));
    CPPUNIT_ASSERT(bench().host.failed.empty());
    CPPUNIT_ASSERT(node_port_rules("ns1/svc1") > 0);
    CPPUNIT_ASSERT(node_port_rules("ns1/svc2") > 0);
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
    CPPUNIT_ASSERT(!is_free(SOCK_DGRAM));
  }

  void who_waits_gets_it_in_the_same_transaction() {
    ok(bench().full({service("svc1"), service("svc2")}));
    bool held = false;
    bench().on_restore = [&](const std::string&) { held = !is_free(SOCK_STREAM); };
    ok(bench().delta({}, {service("svc1")}));
    CPPUNIT_ASSERT(held);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, node_port_rules("ns1/svc1"));
    CPPUNIT_ASSERT(node_port_rules("ns1/svc2") > 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench().kernel.restores.size());
    CPPUNIT_ASSERT(bench().host.failed.empty());
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
    // The daemon's list of what is left out is put right at once.
    CPPUNIT_ASSERT(bench().host.resyncs.empty());
    CPPUNIT_ASSERT(std::vector<std::string>{"ns1/svc2:p80/tcp"} == bench().host.by_now_served);
    ok(bench().full({service("svc2")}));
    CPPUNIT_ASSERT(bench().kernel.restores.empty());
    bench().on_restore = nullptr;
    ok(bench().full({}));
    CPPUNIT_ASSERT(is_free(SOCK_STREAM));
  }

  void who_waits_gets_it_when_the_port_is_changed() {
    ok(bench().full({service("svc1"), service("svc2")}));
    ServiceSpec changed = service("svc1");
    changed.node_port = 0;
    ok(bench().delta({changed}));
    CPPUNIT_ASSERT(node_port_rules("ns1/svc2") > 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, node_port_rules("ns1/svc1"));
    // Now it is the other one who waits.
    ok(bench().delta({service("svc1")}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, node_port_rules("ns1/svc1"));
    CPPUNIT_ASSERT(bench().host.failed.contains("ns1/svc1:p80"));
  }

  void who_waits_may_change_meanwhile() {
    ok(bench().full({service("svc1"), service("svc2")}));
    ServiceSpec changed = service("svc2");
    changed.port = 81;
    ok(bench().delta({changed}));
    CPPUNIT_ASSERT(bench().host.failed.contains("ns1/svc2:p80"));
    ok(bench().delta({}, {service("svc1")}));
    CPPUNIT_ASSERT(node_port_rules("ns1/svc2") > 0);
    CPPUNIT_ASSERT(bench().rules("ns1/svc2", "--dport 81 ") > 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, bench().rules("ns1/svc2", "--dport 80 "));
    ok(bench().delta({}, {changed}));
    CPPUNIT_ASSERT(is_free(SOCK_STREAM));
  }

  void a_port_of_a_program_is_tried_again() {
    Descriptor program = test::bound(kV4, SOCK_STREAM, {}, node_port_);
    CPPUNIT_ASSERT_EQUAL(0, listen(program.get(), 1));
    ok(bench().full({service("svc1")}));
    CPPUNIT_ASSERT_EQUAL(conflict("is in use by this process; stop it, or give the Service another port"),
                         bench().host.failed["ns1/svc1:p80"]);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, node_port_rules("ns1/svc1"));
    program.close();
    ok(bench().full({service("svc1")}));
    CPPUNIT_ASSERT(bench().host.failed.empty());
    CPPUNIT_ASSERT(node_port_rules("ns1/svc1") > 0);
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
  }

  void a_local_address_is_claimed_and_others_are_not() {
    const Descriptor program = test::bound(kV4, SOCK_STREAM, test::loopback(kV4), node_port_);
    ServiceSpec here = service("svc1");
    here.node_port = 0;
    here.port = node_port_;
    here.external_ips = {"127.0.0.1"};
    test::NodeSpec node;
    ok(bench().full({here}, node));
    CPPUNIT_ASSERT(bench().host.failed.empty());
    node.local_addresses = {"127.0.0.1"};
    ok(bench().full({here}, node));
    CPPUNIT_ASSERT_EQUAL("not served there: local address 127.0.0.1:" + std::to_string(node_port_) +
                             "/TCP is in use by a program of this node; stop it, or give the Service another port",
                         bench().host.failed["ns1/svc1:p80"]);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, bench().rules("ns1/svc1", "-d 127.0.0.1/32"));
    CPPUNIT_ASSERT(bench().rules("ns1/svc1", "-d 172.30.0.49/32") > 0);
  }

  void only_addresses_that_serve_node_ports_are_claimed() {
    const Descriptor program = test::bound(kV4, SOCK_STREAM, *sdk::parse_address("127.0.0.2", kV4), node_port_);
    test::NodeSpec node;
    node.flags = abi::kNodePortsOnLocalhost;
    node.node_port_addresses = {"127.0.0.1"};
    ok(bench().full({service("svc1")}, node));
    CPPUNIT_ASSERT(bench().host.failed.empty());
    CPPUNIT_ASSERT(!test::bound(kV4, SOCK_STREAM, test::loopback(kV4), node_port_));
    node.node_port_addresses = {"127.0.0.1", "127.0.0.2"};
    ok(bench().full({service("svc1")}, node));
    CPPUNIT_ASSERT(bench().host.failed.contains("ns1/svc1:p80"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, node_port_rules("ns1/svc1"));
  }

  void claims_end_with_the_process() {
    ok(bench().full({service("svc1")}));
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
    bench().stop();
    CPPUNIT_ASSERT(is_free(SOCK_STREAM));
    CPPUNIT_ASSERT(node_port_rules("ns1/svc1") > 0);
  }

  // It has begun to retire, and the other one could not serve after all.
  void a_backend_that_serves_again_does_not_share_with_itself() {
    bench().host.descriptors = std::make_unique<test::FakeDescriptors>();
    bench().flags = abi::kCreatePredecessorServes;
    ok(bench().full({service("a")}));
    CPPUNIT_ASSERT_EQUAL(static_cast<std::int32_t>(abi::Code::kRetry),
                         static_cast<std::int32_t>(bench().retire(bench().backend(), 60, {"ipset/*"})));
    ok(bench().full({service("a")}));
    CPPUNIT_ASSERT(bench().host.failed.empty());
    ok(bench().full({}));
    CPPUNIT_ASSERT(bench().host.descriptors->all().empty());
    CPPUNIT_ASSERT(is_free(SOCK_STREAM));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(BackendClaimsTest);

}  // namespace backend_claims_test
}  // namespace sluice::userspace
