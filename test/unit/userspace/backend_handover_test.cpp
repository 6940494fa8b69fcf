// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sockets that outlive a backend: for the next process, and for a new userspace backend of the same
// process.
#include <cppunit/extensions/HelperMacros.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/patience.hpp"
#include "test/unit/userspace/backend_rig.hpp"
#include "test/unit/userspace/servers.hpp"

namespace sluice::userspace {
namespace backend_handover_test {

using test::ask;
using test::ask_again;
using test::named;
using test::ok;
using test::Server;
using test::ServiceSpec;

constexpr abi::Family kV4 = abi::Family::kIpv4;
const std::vector<std::string> kSame{"iptables/nat/KUBE-*", "iptables/filter/KUBE-*"};

void retries(abi::Code code) { CPPUNIT_ASSERT(code == abi::Code::kRetry); }

lib::Fd client_of(std::uint16_t port, int type) {
  lib::Fd client(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  const SocketAddress to(kV4, test::loopback(kV4), port);
  CPPUNIT_ASSERT_EQUAL(0, connect(client.get(), to.get(), to.size()));
  return client;
}

ServiceSpec udp(ServiceSpec spec) {
  spec.protocol = abi::Protocol::kUdp;
  return spec;
}

class HandoverTest : public test::UserspaceFixture {
  CPPUNIT_TEST_SUITE(HandoverTest);
  CPPUNIT_TEST(every_socket_is_kept_by_name);
  CPPUNIT_TEST(names_are_dropped_with_their_sockets);
  CPPUNIT_TEST(connections_between_two_processes_are_served);
  CPPUNIT_TEST(datagrams_between_two_processes_are_relayed);
  CPPUNIT_TEST(a_restart_with_kept_sockets_writes_nothing);
  CPPUNIT_TEST(node_ports_are_adopted);
  CPPUNIT_TEST(node_ports_are_adopted_at_other_addresses);
  CPPUNIT_TEST(node_ports_are_served_while_the_old_backend_holds_them);
  CPPUNIT_TEST(claims_get_own_sockets_after_the_old_backend);
  CPPUNIT_TEST(a_port_of_a_program_is_not_adopted);
  CPPUNIT_TEST(unfit_kept_sockets_are_ignored);
  CPPUNIT_TEST(works_with_a_daemon_that_cannot_keep_sockets);
  CPPUNIT_TEST(a_kept_socket_is_closed_when_its_service_is_removed);
  CPPUNIT_TEST(a_new_backend_shares_tcp_ports);
  CPPUNIT_TEST(a_new_backend_opens_other_udp_ports);
  CPPUNIT_TEST(udp_flows_are_moved_before_the_sockets_close);
  CPPUNIT_TEST(old_udp_ports_are_guarded_until_closed);
  CPPUNIT_TEST(a_new_backend_without_spare_ports_shares_udp_ports);
  CPPUNIT_TEST(an_abandoned_new_backend_changes_nothing);
  CPPUNIT_TEST(a_backend_returns_while_its_old_instance_drains);
  CPPUNIT_TEST(three_backends_in_a_row_two_draining);
  CPPUNIT_TEST(names_of_any_length_are_allowed);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    UserspaceFixture::setUp();
    rig().host.descriptors = std::make_unique<test::FakeDescriptors>();
  }

 private:
  test::FakeDescriptors& kept() const { return *rig().host.descriptors; }
  const std::uint16_t node_port_ = test::free_port(kV4);

  // Node ports are served at one address.
  static test::NodeSpec at_loopback() {
    test::NodeSpec node;
    node.flags = abi::kNodePortsOnLocalhost;
    node.node_port_addresses = {"127.0.0.1"};
    return node;
  }

  void every_socket_is_kept_by_name() {
    ServiceSpec spec = named("svc1");
    spec.endpoints[0].local = true;
    spec.vips = {"192.0.2.8"};
    spec.external_local = true;
    spec.node_port = node_port_;
    ok(rig().full({spec, udp(named("svc2"))}));
    const std::string claim = "claim_tcp_" + std::to_string(node_port_) + "_00000000000000000000000000000000";
    const std::set<std::string> wanted{claim, "tcp_cluster_ns1_svc1_p80", "tcp_local_ns1_svc1_p80",
                                       "udp0_cluster_ns1_svc2_p80", "udp1_cluster_ns1_svc2_p80"};
    CPPUNIT_ASSERT(wanted == kept().all());
    CPPUNIT_ASSERT_EQUAL(rig().port("ns1/svc2"), test::port_of(kept().kept.at("udp1_cluster_ns1_svc2_p80")));
    // Sockets that are kept already are not sent to the service manager again.
    CPPUNIT_ASSERT_EQUAL(wanted.size(), kept().keeps);
    ok(rig().full({spec, udp(named("svc2"))}));
    CPPUNIT_ASSERT_EQUAL(wanted.size(), kept().keeps);
  }

  void names_are_dropped_with_their_sockets() {
    kept().kept["tcp_cluster_ns1_gone_p80"] = test::bound(kV4, SOCK_STREAM, test::loopback(kV4), 0);
    ServiceSpec spec = named("svc1");
    spec.node_port = node_port_;
    ok(rig().full({spec, named("svc2")}));
    CPPUNIT_ASSERT(!kept().all().contains("tcp_cluster_ns1_gone_p80"));
    ok(rig().delta({}, {spec}));
    CPPUNIT_ASSERT(std::set<std::string>{"tcp_cluster_ns1_svc2_p80"} == kept().all());
    ok(rig().delta({named("svc2", {})}));
    CPPUNIT_ASSERT(kept().all().empty());
    ok(rig().delta({named("svc2")}));
    CPPUNIT_ASSERT(std::set<std::string>{"tcp_cluster_ns1_svc2_p80"} == kept().all());
    retries(rig().retire(rig().backend(), 60));
    CPPUNIT_ASSERT(!kept().all().empty());
    rig().host.pass(3);
    ok(rig().retire(rig().backend(), 57));
    CPPUNIT_ASSERT(kept().all().empty());
  }

  void connections_between_two_processes_are_served() {
    const Server a('a', SOCK_STREAM);
    ok(rig().full({named("svc1", {a.endpoint()})}));
    const std::uint16_t port = rig().port("ns1/svc1");
    rig().stop();
    const lib::Fd client = client_of(port, SOCK_STREAM);
    ok(rig().full({named("svc1", {a.endpoint()})}));
    CPPUNIT_ASSERT_EQUAL('a', ask_again(client, SOCK_STREAM, &a));
    CPPUNIT_ASSERT_EQUAL('a', ask(port, SOCK_STREAM, &a));
  }

  void datagrams_between_two_processes_are_relayed() {
    const Server u('u', SOCK_DGRAM);
    ok(rig().full({udp(named("svc1", {u.endpoint()}))}));
    const std::uint16_t port = rig().port("ns1/svc1");
    const lib::Fd early = client_of(port, SOCK_DGRAM);
    CPPUNIT_ASSERT_EQUAL('u', ask_again(early, SOCK_DGRAM, &u));
    rig().stop();
    std::vector<lib::Fd> clients;
    for (int i = 0; i < 8; ++i) {  // of either socket of the group
      clients.push_back(client_of(port, SOCK_DGRAM));
      CPPUNIT_ASSERT_EQUAL(ssize_t{1}, send(clients.back().get(), "?", 1, 0));
    }
    ok(rig().full({udp(named("svc1", {u.endpoint()}))}));
    for (const lib::Fd& client : clients) {
      u.serve_one();
      (void)client;
    }
    for (const lib::Fd& client : clients) {
      pollfd wait{client.get(), POLLIN, 0};
      CPPUNIT_ASSERT_EQUAL(1, poll(&wait, 1, test::stretched_milliseconds(std::chrono::seconds(10))));
    }
    CPPUNIT_ASSERT_EQUAL('u', ask_again(early, SOCK_DGRAM, &u));
  }

  void a_restart_with_kept_sockets_writes_nothing() {
    // Even without rules in the kernel the ports are the same.
    ok(rig().full({named("svc1"), udp(named("svc2"))}));
    const std::uint16_t tcp_port = rig().port("ns1/svc1");
    const std::uint16_t udp_port = rig().port("ns1/svc2");
    rig().stop();
    ok(rig().full({named("svc1"), udp(named("svc2"))}));
    CPPUNIT_ASSERT(rig().kernel.restores.empty());
    rig().stop();
    rig().kernel.foreign("*nat\n-F KUBE-PORTALS-CONTAINER\n-F KUBE-PORTALS-HOST\nCOMMIT\n");
    ok(rig().full({named("svc1"), udp(named("svc2"))}));
    CPPUNIT_ASSERT_EQUAL(tcp_port, rig().port("ns1/svc1"));
    CPPUNIT_ASSERT_EQUAL(udp_port, rig().port("ns1/svc2"));
  }

  void node_ports_are_adopted() {
    ServiceSpec spec = named("svc1");
    spec.node_port = node_port_;
    ok(rig().full({spec}));
    rig().stop();
    CPPUNIT_ASSERT(!test::bound(kV4, SOCK_STREAM, {}, node_port_));
    ok(rig().full({spec}));
    CPPUNIT_ASSERT(rig().host.failed.empty());
    abi::Backend* const old = rig().detach();
    rig().flags = abi::kCreatePredecessorServes;
    ok(rig().full({spec}));
    CPPUNIT_ASSERT(rig().host.failed.empty());
    CPPUNIT_ASSERT(rig().rules("ns1/svc1", "--dport " + std::to_string(node_port_) + " ") > 0);
    ok(rig().retire(*old, 0, kSame));
    old->release();
    CPPUNIT_ASSERT(!test::bound(kV4, SOCK_STREAM, {}, node_port_));
    ok(rig().delta({}, {spec}));
    CPPUNIT_ASSERT(static_cast<bool>(test::bound(kV4, SOCK_STREAM, {}, node_port_)));
  }

  // Modes have different defaults for the addresses that serve node ports.
  void node_ports_are_adopted_at_other_addresses() {
    ServiceSpec spec = named("svc1");
    spec.node_port = node_port_;
    const test::NodeSpec one = at_loopback();
    const test::NodeSpec every;
    ok(rig().full({spec, udp(spec)}, every));
    rig().flags = abi::kCreatePredecessorServes;
    for (const test::NodeSpec& next : {one, every, one}) {
      abi::Backend* const old = rig().detach();
      ok(rig().full({spec, udp(spec)}, next));
      CPPUNIT_ASSERT(rig().host.failed.empty());
      CPPUNIT_ASSERT(!test::bound(kV4, SOCK_STREAM, test::loopback(kV4), node_port_));
      ok(rig().retire(*old, 0, kSame));
      old->release();
      CPPUNIT_ASSERT(!test::bound(kV4, SOCK_STREAM, test::loopback(kV4), node_port_));
      CPPUNIT_ASSERT(!test::bound(kV4, SOCK_DGRAM, test::loopback(kV4), node_port_));
    }
    ok(rig().full({}, one));
    CPPUNIT_ASSERT(static_cast<bool>(test::bound(kV4, SOCK_STREAM, {}, node_port_)));
    CPPUNIT_ASSERT(static_cast<bool>(test::bound(kV4, SOCK_DGRAM, {}, node_port_)));
  }

  // The old backend drains, and for a while the new backend does not claim the port that the old one holds.
  void node_ports_are_served_while_the_old_backend_holds_them() {
    ServiceSpec spec = named("svc1");
    spec.node_port = node_port_;
    const test::NodeSpec every;
    const test::NodeSpec one = at_loopback();
    ok(rig().full({spec, udp(spec)}, every));
    abi::Backend* const old = rig().detach();
    retries(rig().retire(*old, 60, {"ipset/*"}));
    rig().flags = abi::kCreatePredecessorServes;
    const auto served = [&] {
      CPPUNIT_ASSERT(rig().host.failed.empty());
      CPPUNIT_ASSERT(rig().rules("ns1/svc1", "--dport " + std::to_string(node_port_) + " ") > 0);
    };
    for (const test::NodeSpec& next : {one, every, one}) {
      ok(rig().full({spec, udp(spec)}, next));
      served();
    }
    // The Service is removed and added again.
    ok(rig().full({}, one));
    const std::string of_old = std::to_string(node_port_) + "_" + std::string(32, '0');
    CPPUNIT_ASSERT((std::set<std::string>{"claim_tcp_" + of_old, "claim_udp_" + of_old} == kept().all()));
    ok(rig().delta({spec, udp(spec)}, {}, one));
    served();
    // The socket is kept under its own address.
    CPPUNIT_ASSERT(kept().all().contains("claim_tcp_" + std::to_string(node_port_) + "_" + std::string(32, '0')));
    ok(rig().retire(*old, 0, kSame));
    old->release();
    CPPUNIT_ASSERT(!test::bound(kV4, SOCK_STREAM, test::loopback(kV4), node_port_));
    CPPUNIT_ASSERT(!test::bound(kV4, SOCK_DGRAM, test::loopback(kV4), node_port_));
    CPPUNIT_ASSERT(std::none_of(rig().host.lines.begin(), rig().host.lines.end(), [](const auto& line) {
      return line.second.find("kept socket ignored") != std::string::npos;
    }));
    ok(rig().full({}, one));
    CPPUNIT_ASSERT(static_cast<bool>(test::bound(kV4, SOCK_STREAM, {}, node_port_)));
    CPPUNIT_ASSERT(static_cast<bool>(test::bound(kV4, SOCK_DGRAM, {}, node_port_)));
  }

  void claims_get_own_sockets_after_the_old_backend() {
    ServiceSpec spec = named("svc1");
    spec.node_port = node_port_;
    const test::NodeSpec every;
    const test::NodeSpec one = at_loopback();
    const abi::Address other = *sdk::parse_address("127.0.0.2", kV4);
    rig().flags = abi::kCreatePredecessorServes;
    for (const auto& [before, after] : {std::pair(every, one), std::pair(one, every)}) {
      ok(rig().full({spec}, before));
      abi::Backend* const old = rig().detach();
      ok(rig().full({spec}, after));
      CPPUNIT_ASSERT(rig().host.failed.empty());
      ok(rig().retire(*old, 0, kSame));
      old->release();
      ok(rig().full({spec}, after));
      CPPUNIT_ASSERT(rig().host.failed.empty());
      CPPUNIT_ASSERT(!test::bound(kV4, SOCK_STREAM, test::loopback(kV4), node_port_));
      const bool is_free = static_cast<bool>(test::bound(kV4, SOCK_STREAM, other, node_port_));
      CPPUNIT_ASSERT_EQUAL(!after.node_port_addresses.empty(), is_free);
      ok(rig().full({}, after));
      rig().stop();
    }
  }

  void a_port_of_a_program_is_not_adopted() {
    ServiceSpec spec = named("svc1");
    spec.node_port = node_port_;
    test::NodeSpec node = at_loopback();
    ok(rig().full({spec}, node));
    const lib::Fd program = test::bound(kV4, SOCK_STREAM, *sdk::parse_address("127.0.0.2", kV4), node_port_);
    node.node_port_addresses = {"127.0.0.1", "127.0.0.2"};
    ok(rig().full({spec}, node));
    CPPUNIT_ASSERT(rig().host.failed.contains("ns1/svc1:p80"));
    abi::Backend* const old = rig().detach();
    rig().flags = abi::kCreatePredecessorServes;
    ok(rig().full({spec}, node));
    CPPUNIT_ASSERT(rig().host.failed.contains("ns1/svc1:p80"));
    old->release();
  }

  void unfit_kept_sockets_are_ignored() {
    const auto listening = [](int type, const abi::Address& address) {
      lib::Fd made = test::bound(kV4, type, address, 0);
      if (type == SOCK_STREAM) CPPUNIT_ASSERT_EQUAL(0, listen(made.get(), 1));
      return made;
    };
    const abi::Address here = test::loopback(kV4);
    const std::uint16_t low = test::free_port(kV4);
    struct Case {
      lib::Fd socket;
      std::string why;
    };
    std::vector<Case> cases;
    cases.push_back({lib::Fd(open("/dev/null", O_RDONLY | O_CLOEXEC)), "not a socket"});
    cases.push_back({lib::Fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)), "it is of another address family"});
    cases.push_back({listening(SOCK_DGRAM, here), "it is of another protocol"});
    cases.push_back({lib::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), "it has no port"});
    cases.push_back({test::bound(kV4, SOCK_STREAM, here, low), "it does not listen"});
    lib::Fd elsewhere = listening(SOCK_STREAM, *sdk::parse_address("127.0.0.9", kV4));
    const std::string other = "it is bound to 127.0.0.9:" + std::to_string(test::port_of(elsewhere));
    cases.push_back({std::move(elsewhere), other});
    const lib::Fd server = listening(SOCK_STREAM, here);
    cases.push_back({client_of(test::port_of(server), SOCK_STREAM), "it is connected"});
    const std::string name = "tcp_cluster_ns1_svc1_p80";
    for (Case& one : cases) {
      rig().stop();
      kept().kept[name] = std::move(one.socket);
      rig().host.lines.clear();
      ok(rig().full({named("svc1")}));
      CPPUNIT_ASSERT_MESSAGE(
          one.why, rig().host.has_line(abi::Severity::kWarning, "kept socket ignored: " + name + ": " + one.why));
      CPPUNIT_ASSERT_EQUAL(0, test::connect_error(kV4, rig().port("ns1/svc1")));
      CPPUNIT_ASSERT_EQUAL(rig().port("ns1/svc1"), test::port_of(kept().kept.at(name)));
    }
  }

  void works_with_a_daemon_that_cannot_keep_sockets() {
    kept().refuses = true;
    ok(rig().full({named("svc1"), named("svc2")}));
    CPPUNIT_ASSERT_EQUAL(0, test::connect_error(kV4, rig().port("ns1/svc1")));
    CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t{1},
                         std::count_if(rig().host.lines.begin(), rig().host.lines.end(), [](const auto& line) {
                           return line.second.find("there is no room") != std::string::npos;
                         }));
  }

  void a_kept_socket_is_closed_when_its_service_is_removed() {
    ok(rig().full({named("svc1"), udp(named("svc2"))}));
    const std::uint16_t tcp_port = rig().port("ns1/svc1");
    const std::uint16_t udp_port = rig().port("ns1/svc2");
    ok(rig().full({}));
    CPPUNIT_ASSERT_EQUAL(ECONNREFUSED, test::connect_error(kV4, tcp_port));
    CPPUNIT_ASSERT(static_cast<bool>(test::bound(kV4, SOCK_DGRAM, test::loopback(kV4), udp_port)));
  }

  void a_new_backend_shares_tcp_ports() {
    const Server a('a', SOCK_STREAM);
    const lib::Fd listener = test::bound(kV4, SOCK_STREAM, test::loopback(kV4), 0);
    CPPUNIT_ASSERT_EQUAL(0, listen(listener.get(), 4));
    ok(rig().full({named("svc1", {{"127.0.0.1", test::port_of(listener), false, test::Condition::kReady}})}));
    const std::uint16_t port = rig().port("ns1/svc1");
    const lib::Fd client = client_of(port, SOCK_STREAM);
    const lib::Fd server(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    abi::Backend* const old = rig().detach();
    rig().flags = abi::kCreatePredecessorServes;
    ok(rig().full({named("svc1", {a.endpoint()})}));
    CPPUNIT_ASSERT(rig().kernel.restores.empty());
    retries(rig().retire(*old, 60, kSame));
    CPPUNIT_ASSERT(rig().kernel.restores.empty());
    // Only the new backend accepts connections.
    for (int i = 0; i < 8; ++i) CPPUNIT_ASSERT_EQUAL('a', ask(port, SOCK_STREAM, &a));
    CPPUNIT_ASSERT_EQUAL(ssize_t{1}, send(client.get(), "x", 1, MSG_NOSIGNAL));
    pollfd wait{server.get(), POLLIN, 0};
    CPPUNIT_ASSERT_EQUAL(1, poll(&wait, 1, test::stretched_milliseconds(std::chrono::seconds(10))));
    rig().host.pass(3);
    retries(rig().retire(*old, 57, kSame));
    ok(rig().retire(*old, 0, kSame));
    old->release();
    CPPUNIT_ASSERT_EQUAL('a', ask(port, SOCK_STREAM, &a));
    CPPUNIT_ASSERT(std::set<std::string>{"tcp_cluster_ns1_svc1_p80"} == kept().all());
  }

  void a_new_backend_opens_other_udp_ports() {
    const Server o('o', SOCK_DGRAM);
    const Server n('n', SOCK_DGRAM);
    ok(rig().full({udp(named("svc1", {o.endpoint()}))}));
    const std::uint16_t before = rig().port("ns1/svc1");
    const lib::Fd client = client_of(before, SOCK_DGRAM);
    CPPUNIT_ASSERT_EQUAL('o', ask_again(client, SOCK_DGRAM, &o));
    abi::Backend* const old = rig().detach();
    rig().flags = abi::kCreatePredecessorServes;
    ok(rig().full({udp(named("svc1", {n.endpoint()}))}));
    const std::uint16_t after = rig().port("ns1/svc1");
    CPPUNIT_ASSERT(before != after);
    CPPUNIT_ASSERT_EQUAL('n', ask(after, SOCK_DGRAM, &n));
    retries(rig().retire(*old, 60, kSame));
    // The conntrack entry of the flow points to the old port as long as the flow is active.
    for (std::uint32_t i = 0; i < 6; ++i) {
      CPPUNIT_ASSERT_EQUAL('o', ask_again(client, SOCK_DGRAM, &o));
      rig().host.pass(1);
      retries(rig().retire(*old, 60 - i, kSame));
    }
    ok(rig().retire(*old, 0, kSame));
    old->release();
    CPPUNIT_ASSERT_EQUAL(after, test::port_of(kept().kept.at("udp0_cluster_ns1_svc1_p80")));
    CPPUNIT_ASSERT_EQUAL('n', ask(after, SOCK_DGRAM, &n));
    // In the next process no other backend reads them.
    rig().stop();
    rig().flags = 0;
    ok(rig().full({udp(named("svc1", {n.endpoint()}))}));
    CPPUNIT_ASSERT_EQUAL(after, rig().port("ns1/svc1"));
  }

  void udp_flows_are_moved_before_the_sockets_close() {
    const Server o('o', SOCK_DGRAM);
    ok(rig().full({udp(named("svc1", {o.endpoint()})), udp(named("svc2", {o.endpoint()}))}));
    const std::uint16_t port = rig().port("ns1/svc1");
    auto& relayed = rig().host.relayed;
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, relayed.at("ns1/svc1:p80").size());
    abi::Backend* const old = rig().detach();
    const std::vector<std::string> claims_of_ipvs{"ipset/*"};
    const auto retires = [&](std::uint32_t seconds) {
      rig().host.pass(seconds);
      retries(rig().retire(*old, 60, claims_of_ipvs));
    };
    const auto moved = [&] { return relayed.at("ns1/svc1:p80").empty() && relayed.at("ns1/svc2:p80").empty(); };
    const auto closed = [&] { return static_cast<bool>(test::bound(kV4, SOCK_DGRAM, test::loopback(kV4), port)); };
    retires(0);
    retires(3);
    retires(3);
    CPPUNIT_ASSERT(!moved());
    retires(1);
    CPPUNIT_ASSERT(moved());
    // The daemon needs some time to remove the conntrack entries.
    retires(2);
    CPPUNIT_ASSERT(!closed());
    rig().host.pass(1);
    ok(rig().retire(*old, 60, claims_of_ipvs));
    CPPUNIT_ASSERT(closed());
    old->release();
  }

  // Clients outside the source ranges must not bypass them through the old proxy port.
  void old_udp_ports_are_guarded_until_closed() {
    ServiceSpec spec = udp(named("svc1"));
    spec.vips = {"192.0.2.8"};
    spec.source_ranges = {"198.51.100.0/24"};
    ok(rig().full({spec}));
    const std::uint16_t before = rig().port("ns1/svc1");
    const auto guards = [&](std::uint16_t port) {
      return rig().rules("ns1/svc1", "--dport " + std::to_string(port) + " -m conntrack ! --ctstate DNAT -j DROP");
    };
    abi::Backend* const old = rig().detach();
    rig().flags = abi::kCreatePredecessorServes;
    ok(rig().full({spec}));
    const std::uint16_t after = rig().port("ns1/svc1");
    CPPUNIT_ASSERT(before != after);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, guards(after));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, guards(before));
    retries(rig().retire(*old, 60, kSame));
    rig().host.pass(3);
    retries(rig().retire(*old, 57, kSame));
    spec.source_ranges.push_back("203.0.113.0/24");
    ok(rig().delta({spec}));
    ok(rig().full({spec}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, guards(before));
    ok(rig().retire(*old, 0, kSame));
    old->release();
    ok(rig().full({spec}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, guards(before));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, guards(after));
  }

  void a_new_backend_without_spare_ports_shares_udp_ports() {
    const Server o('o', SOCK_DGRAM);
    const Server n('n', SOCK_DGRAM);
    const std::uint16_t low = test::free_port(kV4);
    rig().settings.proxy_ports = {low, low};
    ok(rig().full({udp(named("svc1", {o.endpoint()}))}));
    const lib::Fd client = client_of(low, SOCK_DGRAM);
    abi::Backend* const old = rig().detach();
    rig().flags = abi::kCreatePredecessorServes;
    ok(rig().full({udp(named("svc1", {n.endpoint()}))}));
    CPPUNIT_ASSERT(rig().host.failed.empty());
    CPPUNIT_ASSERT(rig().kernel.restores.empty());
    retries(rig().retire(*old, 60, kSame));
    for (int i = 0; i < 8; ++i) CPPUNIT_ASSERT_EQUAL('n', ask(low, SOCK_DGRAM, &n));
    rig().host.pass(7);
    retries(rig().retire(*old, 57, kSame));
    rig().host.pass(3);
    ok(rig().retire(*old, 57, kSame));
    old->release();
    CPPUNIT_ASSERT_EQUAL('n', ask_again(client, SOCK_DGRAM, &n));
  }

  void an_abandoned_new_backend_changes_nothing() {
    const Server a('a', SOCK_STREAM);
    const Server u('u', SOCK_DGRAM);
    const std::vector<ServiceSpec> services{named("svc1", {a.endpoint()}), udp(named("svc2", {u.endpoint()}))};
    ok(rig().full(services));
    const std::uint16_t tcp_port = rig().port("ns1/svc1");
    const std::uint16_t udp_port = rig().port("ns1/svc2");
    abi::Backend* const old = rig().detach();
    rig().flags = abi::kCreatePredecessorServes;
    ok(rig().full(services));
    const std::uint16_t other = rig().port("ns1/svc2");
    CPPUNIT_ASSERT(other != udp_port);
    abi::Backend* const new_backend = rig().detach();
    ok(rig().retire(*new_backend, 0, kSame));
    // Rules redirect there until the old backend has rewritten them.
    CPPUNIT_ASSERT_EQUAL('u', ask(other, SOCK_DGRAM, &u));
    test::World world(kV4);
    abi::ApplyResult result{};
    result.struct_size = sizeof(result);
    ok(old->apply(&world.full(services, ++rig().generation), &result, &rig().error));
    new_backend->release();
    CPPUNIT_ASSERT_EQUAL(tcp_port, rig().port("ns1/svc1"));
    CPPUNIT_ASSERT_EQUAL(udp_port, rig().port("ns1/svc2"));
    CPPUNIT_ASSERT_EQUAL('a', ask(tcp_port, SOCK_STREAM, &a));
    CPPUNIT_ASSERT_EQUAL('u', ask(udp_port, SOCK_DGRAM, &u));
    CPPUNIT_ASSERT_EQUAL(udp_port, test::port_of(kept().kept.at("udp0_cluster_ns1_svc2_p80")));
    old->release();
  }

  // A backend of another mode served between the two.
  void a_backend_returns_while_its_old_instance_drains() {
    const Server a('a', SOCK_STREAM);
    ok(rig().full({named("svc1", {a.endpoint()})}));
    const std::uint16_t port = rig().port("ns1/svc1");
    abi::Backend* const old = rig().detach();
    retries(rig().retire(*old, 60, {"ipset/*"}));
    rig().flags = abi::kCreatePredecessorServes;
    ok(rig().full({named("svc1", {a.endpoint()})}));
    CPPUNIT_ASSERT_EQUAL(port, rig().port("ns1/svc1"));
    rig().host.pass(3);
    ok(rig().retire(*old, 57, kSame));
    old->release();
    CPPUNIT_ASSERT_EQUAL('a', ask(port, SOCK_STREAM, &a));
    CPPUNIT_ASSERT(std::set<std::string>{"tcp_cluster_ns1_svc1_p80"} == kept().all());
  }

  // The first two retire while a backend of another mode serves; then a third userspace backend follows.
  void three_backends_in_a_row_two_draining() {
    const Server a('a', SOCK_STREAM);
    ServiceSpec spec = named("svc1", {a.endpoint()});
    spec.node_port = node_port_;
    ok(rig().full({spec}));
    const std::uint16_t port = rig().port("ns1/svc1");
    rig().flags = abi::kCreatePredecessorServes;
    abi::Backend* const first = rig().detach();
    ok(rig().full({spec}));
    retries(rig().retire(*first, 60, kSame));
    abi::Backend* const second = rig().detach();
    retries(rig().retire(*second, 60, {"ipset/*"}));
    ok(rig().retire(*first, 0, {"ipset/*"}));
    first->release();
    ok(rig().full({spec}));
    CPPUNIT_ASSERT(rig().host.failed.empty());
    CPPUNIT_ASSERT_EQUAL(port, rig().port("ns1/svc1"));
    ok(rig().retire(*second, 0, kSame));
    second->release();
    CPPUNIT_ASSERT_EQUAL('a', ask(port, SOCK_STREAM, &a));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, kept().all().size());
  }

  void names_of_any_length_are_allowed() {
    std::set<std::string> names;
    for (const std::string& port : {std::string("a/b:c"), std::string("a/b"), "a/" + std::string(200, 'b') + ":c",
                                    "a/" + std::string(200, 'b') + ":d", std::string("a/b_c"), std::string("a/b c")}) {
      for (const bool local : {false, true}) {
        const std::string name = kept_name(abi::Protocol::kTcp, local, port, 0);
        CPPUNIT_ASSERT(name.size() <= 200);
        CPPUNIT_ASSERT_EQUAL(
            std::string::npos,
            name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."));
        CPPUNIT_ASSERT(names.insert(name).second);
      }
    }
    CPPUNIT_ASSERT_EQUAL(std::string("udp3_local_a_b_c"), kept_name(abi::Protocol::kUdp, true, "a/b:c", 3));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(HandoverTest);

}  // namespace backend_handover_test
}  // namespace sluice::userspace
