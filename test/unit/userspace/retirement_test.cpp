// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Retirement of a backend while another one serves.
#include <cppunit/extensions/HelperMacros.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/patience.hpp"
#include "test/unit/userspace/backend_rig.hpp"
#include "test/unit/userspace/servers.hpp"

namespace sluice::userspace {
namespace retirement_test {

using test::ask;
using test::ask_again;
using test::named;
using test::ok;
using test::Server;
using test::ServiceSpec;
using test::stretched_milliseconds;
using test::UserspaceRig;
using test::wait_until;

constexpr abi::Family kV4 = abi::Family::kIpv4;
// UDP timeout of the relay. Longer than a reply takes on a busy machine, since an ended flow gets none.
std::chrono::milliseconds client_flow_time() {
  return test::stretched_at_most(std::chrono::seconds(1), std::chrono::seconds(5));
}
constexpr const char* kLostTcp = "sluice_userspace_connections_lost_total{protocol=\"tcp\",ip_family=\"IPv4\"}";
constexpr const char* kLostUdp = "sluice_userspace_connections_lost_total{protocol=\"udp\",ip_family=\"IPv4\"}";
constexpr const char* kPortals = "sluice_userspace_portals{ip_family=\"IPv4\"}";
constexpr const char* kDrainingTcp = "sluice_userspace_draining{protocol=\"tcp\",ip_family=\"IPv4\"}";

void retries(abi::Code code) { CPPUNIT_ASSERT(code == abi::Code::kRetry); }

// A client and the connection of the relay at its endpoint.
struct Path {
  Path(std::uint16_t proxy_port, const lib::Fd& listener) : client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const SocketAddress to(kV4, test::loopback(kV4), proxy_port);
    CPPUNIT_ASSERT_EQUAL(0, connect(client.get(), to.get(), to.size()));
    pollfd wait{listener.get(), POLLIN, 0};
    CPPUNIT_ASSERT_EQUAL(1, poll(&wait, 1, stretched_milliseconds(std::chrono::seconds(10))));
    server = lib::Fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    CPPUNIT_ASSERT(works());
  }
  bool works() const {
    char byte = 'x';
    if (send(client.get(), &byte, 1, MSG_NOSIGNAL) != 1) return false;
    pollfd wait{server.get(), POLLIN, 0};
    return poll(&wait, 1, stretched_milliseconds(std::chrono::seconds(10))) == 1 && recv(server.get(), &byte, 1, 0) == 1;
  }
  // 0 at the end of the stream, or an errno.
  int ended() const {
    pollfd wait{client.get(), POLLIN, 0};
    char byte = 0;
    if (poll(&wait, 1, stretched_milliseconds(std::chrono::seconds(10))) != 1) return ETIMEDOUT;
    return recv(client.get(), &byte, 1, 0) == 0 ? 0 : errno;
  }
  lib::Fd client;
  lib::Fd server;
};

lib::Fd udp_client(std::uint16_t proxy_port) {
  lib::Fd client(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const SocketAddress to(kV4, test::loopback(kV4), proxy_port);
  CPPUNIT_ASSERT_EQUAL(0, connect(client.get(), to.get(), to.size()));
  return client;
}

class RetirementTest : public test::UserspaceFixture {
  CPPUNIT_TEST_SUITE(RetirementTest);
  CPPUNIT_TEST(rules_are_removed_in_stages);
  CPPUNIT_TEST(claimed_chains_are_kept);
  CPPUNIT_TEST(packets_in_flight_are_served);
  CPPUNIT_TEST(queued_connections_are_accepted);
  CPPUNIT_TEST(connections_continue_until_they_end);
  CPPUNIT_TEST(the_drain_timeout_ends_remaining_connections);
  CPPUNIT_TEST(the_drain_timeout_ends_connections_of_removed_services);
  CPPUNIT_TEST(the_drain_timeout_ends_connections_of_removed_listeners);
  CPPUNIT_TEST(connections_of_removed_services_end_with_the_backend);
  CPPUNIT_TEST(gauges_are_those_of_the_returning_backend);
  CPPUNIT_TEST(a_reactivated_backend_reports_gauges_again);
  CPPUNIT_TEST(an_active_udp_client_keeps_its_flow);
  CPPUNIT_TEST(an_occasional_udp_client_keeps_its_flow);
  CPPUNIT_TEST(a_quiet_udp_flow_does_not_delay_the_end);
  CPPUNIT_TEST(a_udp_flow_in_which_only_the_endpoint_sends_is_not_quiet);
  CPPUNIT_TEST(a_client_with_a_conntrack_entry_is_not_refused);
  CPPUNIT_TEST(the_other_family_is_not_affected);
  CPPUNIT_TEST(a_failure_is_retried);
  CPPUNIT_TEST(leftover_state_of_an_earlier_process_is_removed);
  CPPUNIT_TEST(node_ports_are_released_after_the_grace_period);
  CPPUNIT_TEST_SUITE_END();

  lib::Fd listener_;

 public:
  void setUp() override {
    UserspaceFixture::setUp();
    listener_ = test::bound(kV4, SOCK_STREAM, test::loopback(kV4), 0);
    CPPUNIT_ASSERT_EQUAL(0, listen(listener_.get(), 16));
  }
  void tearDown() override {
    UserspaceFixture::tearDown();
    listener_.reset();
  }

 private:
  test::EndpointSpec endpoint() const {
    return {"127.0.0.1", test::port_of(listener_), false, test::Condition::kReady};
  }
  abi::Code retire(std::uint32_t seconds) { return rig().retire(rig().backend(), seconds); }

  ServiceSpec guarded() const {
    ServiceSpec spec = named("svc1");
    spec.vips = {"192.0.2.8"};
    spec.source_ranges = {"198.51.100.0/24"};
    return spec;
  }

  void rules_are_removed_in_stages() {
    ok(rig().full({guarded()}));
    const auto has = [&](const std::string& text) { return rig().rules("ns1/svc1", text) > 0; };
    CPPUNIT_ASSERT(has("is not for this source"));
    std::vector<std::string> inputs;
    rig().kernel.before_restore = [&](const std::string& input) {
      inputs.push_back(input);
      // Packets that are not redirected any more must not be dropped: another backend serves them.
      if (input.find("*nat") != std::string::npos) CPPUNIT_ASSERT(!has("is not for this source"));
      // The proxy port stays guarded meanwhile.
      CPPUNIT_ASSERT(has("is not reached by its proxy port"));
    };
    retries(retire(60));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, inputs.size());
    CPPUNIT_ASSERT(inputs[0].find("*nat") == std::string::npos);
    CPPUNIT_ASSERT(inputs[1].find("*filter") == std::string::npos);
    CPPUNIT_ASSERT(!rig().kernel.has("nat", "KUBE-PORTALS-CONTAINER"));
    CPPUNIT_ASSERT(rig().kernel.has("filter", "KUBE-NODEPORT-NON-LOCAL"));
    rig().host.pass(3);
    ok(retire(57));
    CPPUNIT_ASSERT(!rig().kernel.has("filter", "KUBE-NODEPORT-NON-LOCAL"));
    CPPUNIT_ASSERT(!rig().kernel.has("filter", "KUBE-PORTALS-FIREWALL"));
    CPPUNIT_ASSERT(rig().kernel.text().find("KUBE-") == std::string::npos);
    ok(retire(56));
  }

  void claimed_chains_are_kept() {
    ok(rig().full({guarded()}));
    const std::string before = rig().kernel.text();
    std::vector<std::string> all;
    for (const PortalChain& chain : kPortalChains) {
      all.push_back(std::string("iptables/").append(netfilter::table_name(chain.table)).append("/").append(chain.name));
    }
    retries(rig().retire(rig().backend(), 60, all));
    CPPUNIT_ASSERT_EQUAL(before, rig().kernel.text());
    CPPUNIT_ASSERT(rig().kernel.restores.empty());
    rig().host.pass(4);
    ok(rig().retire(rig().backend(), 56, all));
    CPPUNIT_ASSERT_EQUAL(before, rig().kernel.text());
  }

  void packets_in_flight_are_served() {
    const Server a('a', SOCK_STREAM);
    ok(rig().full({named("svc1", {a.endpoint()})}));
    const std::uint16_t port = rig().port("ns1/svc1");
    retries(retire(60));
    CPPUNIT_ASSERT(rig().ports("ns1/svc1").empty());
    CPPUNIT_ASSERT_EQUAL('a', ask(port, SOCK_STREAM, &a));
    rig().host.pass(2);
    retries(retire(58));
    CPPUNIT_ASSERT_EQUAL('a', ask(port, SOCK_STREAM, &a));
    rig().host.pass(1);
    CPPUNIT_ASSERT(wait_until([&] { return retire(57) == abi::Code::kOk; }));
    CPPUNIT_ASSERT_EQUAL(ECONNREFUSED, test::connect_error(kV4, port));
  }

  // The relay threads are too busy to have accepted the connections before.
  void queued_connections_are_accepted() {
    rig().settings.relay.max_connections = 1;
    ok(rig().full({named("svc1", {endpoint()})}));
    const std::uint16_t port = rig().port("ns1/svc1");
    const Path first(port, listener_);
    const lib::Fd waits(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const SocketAddress to(kV4, test::loopback(kV4), port);
    CPPUNIT_ASSERT_EQUAL(0, connect(waits.get(), to.get(), to.size()));
    pollfd wait{listener_.get(), POLLIN, 0};
    CPPUNIT_ASSERT_EQUAL(0, poll(&wait, 1, 300));  // fixed time: the relay is at its limit and accepts no other
    retries(retire(60));
    rig().host.pass(3);
    retries(retire(57));
    CPPUNIT_ASSERT_EQUAL(1, poll(&wait, 1, stretched_milliseconds(std::chrono::seconds(10))));
  }

  void connections_continue_until_they_end() {
    ok(rig().full({named("svc1", {endpoint()})}));
    Path path(rig().port("ns1/svc1"), listener_);
    retries(retire(60));
    rig().host.pass(30);
    retries(retire(30));
    CPPUNIT_ASSERT(path.works());
    CPPUNIT_ASSERT_EQUAL(std::string("1 TCP connection and 0 UDP flows are still relayed"),
                         std::string(rig().error.message));
    CPPUNIT_ASSERT_EQUAL(1.0, rig().host.served().at(kDrainingTcp));
    path.client.reset();
    path.server.reset();
    CPPUNIT_ASSERT(wait_until([&] { return retire(29) == abi::Code::kOk; }));
    CPPUNIT_ASSERT_EQUAL(0.0, rig().host.served().at(kDrainingTcp));
    CPPUNIT_ASSERT_EQUAL(0.0, rig().host.served().at(kLostTcp));
  }

  void the_drain_timeout_ends_remaining_connections() {
    const Server u('u', SOCK_DGRAM);
    rig().settings.relay.udp_timeout = std::chrono::hours(1);
    ServiceSpec udp = named("svc2", {u.endpoint()});
    udp.protocol = abi::Protocol::kUdp;
    ok(rig().full({named("svc1", {endpoint()}), udp}));
    const Path path(rig().port("ns1/svc1"), listener_);
    const lib::Fd client = udp_client(rig().port("ns1/svc2"));
    CPPUNIT_ASSERT_EQUAL('u', ask_again(client, SOCK_DGRAM, &u));
    retries(retire(60));
    rig().host.pass(60);
    ok(retire(0));
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, path.ended());
    CPPUNIT_ASSERT_EQUAL(1.0, rig().host.served().at(kLostTcp));
    CPPUNIT_ASSERT_EQUAL(1.0, rig().host.served().at(kLostUdp));
    CPPUNIT_ASSERT(
        rig().host.has_line(abi::Severity::kWarning, "drain timeout expired: 1 TCP connection and 1 UDP flow ended"));
    CPPUNIT_ASSERT(rig().kernel.text().find("KUBE-") == std::string::npos);
  }

  // By default established connections outlive their Service.
  void the_drain_timeout_ends_connections_of_removed_services() {
    ok(rig().full({named("svc1", {endpoint()})}));
    const Path path(rig().port("ns1/svc1"), listener_);
    ok(rig().delta({}, {named("svc1")}));
    CPPUNIT_ASSERT(path.works());
    retries(retire(60));
    rig().host.pass(60);
    ok(retire(0));
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, path.ended());
    rig().stop();
    CPPUNIT_ASSERT_EQUAL(1.0, rig().host.served().at(kLostTcp));
  }

  void the_drain_timeout_ends_connections_of_removed_listeners() {
    ServiceSpec spec = named("svc1", {endpoint()});
    spec.internal_local = true;
    spec.endpoints[0].local = true;
    ok(rig().full({spec}));
    const Path path(rig().port("ns1/svc1"), listener_);
    spec.internal_local = false;
    ok(rig().delta({spec}));
    const Path other(rig().port("ns1/svc1"), listener_);
    CPPUNIT_ASSERT(path.works());
    ok(retire(0));
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, path.ended());
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, other.ended());
    CPPUNIT_ASSERT_EQUAL(2.0, rig().host.served().at(kLostTcp));
  }

  // Although another backend still uses the threads.
  void connections_of_removed_services_end_with_the_backend() {
    const auto threads = Engine::shared(rig().settings.relay);
    ok(rig().full({named("svc1", {endpoint()})}));
    const Path path(rig().port("ns1/svc1"), listener_);
    ok(rig().delta({}, {named("svc1")}));
    rig().stop();
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, path.ended());
  }

  void gauges_are_those_of_the_returning_backend() {
    ok(rig().full({named("svc1", {endpoint()})}));
    // Wait until the reporter thread has made its first report, so that it is not after that of the new backend.
    CPPUNIT_ASSERT(wait_until([&] { return rig().host.served().contains(kPortals); }));
    abi::Backend* const old = rig().detach();
    retries(rig().retire(*old, 60, {"ipset/*"}));
    rig().flags = abi::kCreatePredecessorServes;
    ok(rig().full({named("svc1", {endpoint()})}));
    set_portals_gauge(7);
    rig().host.pass(3);
    ok(rig().retire(*old, 57, {"iptables/*"}));
    CPPUNIT_ASSERT_EQUAL(7.0, rig().host.served().at(kPortals));
    old->release();
  }

  void a_reactivated_backend_reports_gauges_again() {
    ok(rig().full({named("svc1", {endpoint()})}));
    retries(rig().retire(rig().backend(), 60, {"iptables/*"}));
    ok(rig().full({named("svc1", {endpoint()})}));
    set_portals_gauge(7);
    retries(retire(60));
    rig().host.pass(3);
    ok(retire(57));
    CPPUNIT_ASSERT_EQUAL(0.0, rig().host.served().at(kPortals));
  }

  // Sets the gauge as another userspace backend does.
  void set_portals_gauge(double count) const {
    rig().host.metric(abi::MetricKind::kGaugeSet, sdk::view("sluice_userspace_portals"),
                        sdk::view("ip_family=\"IPv4\""), count);
  }

  void an_active_udp_client_keeps_its_flow() {
    const Server u('u', SOCK_DGRAM);
    ServiceSpec udp = named("svc1", {u.endpoint()});
    udp.protocol = abi::Protocol::kUdp;
    ok(rig().full({udp}));
    const std::uint16_t port = rig().port("ns1/svc1");
    const lib::Fd client = udp_client(port);
    for (std::uint32_t second = 0; second < 10; ++second) {
      CPPUNIT_ASSERT_EQUAL('u', ask_again(client, SOCK_DGRAM, &u));
      retries(retire(60 - second));
      rig().host.pass(1);
    }
    CPPUNIT_ASSERT(wait_until([&] {
      rig().host.pass(1);
      return retire(40) == abi::Code::kOk;
    }));
    CPPUNIT_ASSERT(static_cast<bool>(test::bound(kV4, SOCK_DGRAM, test::loopback(kV4), port)));
  }

  void wait_for_the_end_of_flows() const {
    const auto threads = Engine::shared(rig().settings.relay);
    CPPUNIT_ASSERT(wait_until([&] {
      std::uint64_t flows = 0;
      for (const auto& statistics : threads->statistics()) flows += statistics->udp_clients.get();
      return flows == 0;
    }));
  }

  // Its flow ends between two datagrams.
  void an_occasional_udp_client_keeps_its_flow() {
    const Server u('u', SOCK_DGRAM);
    rig().settings.relay.udp_timeout = client_flow_time();
    ServiceSpec udp = named("svc1", {u.endpoint()});
    udp.protocol = abi::Protocol::kUdp;
    ok(rig().full({udp}));
    const lib::Fd client = udp_client(rig().port("ns1/svc1"));
    retries(retire(60));
    for (std::uint32_t i = 0; i < 5; ++i) {
      CPPUNIT_ASSERT_EQUAL('u', ask_again(client, SOCK_DGRAM, &u));
      wait_for_the_end_of_flows();
      rig().host.pass(2);
      retries(retire(58 - 2 * i));
    }
    retries(retire(48));
    rig().host.pass(7);
    retries(retire(41));
    rig().host.pass(3);
    ok(retire(38));
  }

  // The UDP timeout may be long; the client continues with the new backend.
  void a_quiet_udp_flow_does_not_delay_the_end() {
    const Server u('u', SOCK_DGRAM);
    rig().settings.relay.udp_timeout = std::chrono::hours(1);
    ServiceSpec udp = named("svc1", {u.endpoint()});
    udp.protocol = abi::Protocol::kUdp;
    ok(rig().full({udp}));
    const lib::Fd client = udp_client(rig().port("ns1/svc1"));
    CPPUNIT_ASSERT_EQUAL('u', ask_again(client, SOCK_DGRAM, &u));
    retries(retire(60));
    rig().host.pass(3);
    retries(retire(57));
    rig().host.pass(4);
    retries(retire(53));
    rig().host.pass(3);
    ok(retire(50));
  }

  void a_udp_flow_in_which_only_the_endpoint_sends_is_not_quiet() {
    const Server u('u', SOCK_DGRAM);
    rig().settings.relay.udp_timeout = std::chrono::hours(1);
    ServiceSpec udp = named("svc1", {u.endpoint()});
    udp.protocol = abi::Protocol::kUdp;
    ok(rig().full({udp}));
    const lib::Fd client = udp_client(rig().port("ns1/svc1"));
    CPPUNIT_ASSERT_EQUAL('u', ask_again(client, SOCK_DGRAM, &u));
    retries(retire(60));
    for (std::uint32_t second = 3; second < 30; second += 3) {
      rig().host.pass(3);
      u.send_again();
      CPPUNIT_ASSERT(hears(client, 'u'));
      retries(retire(60 - second));
    }
  }
  static bool hears(const lib::Fd& client, char letter) {
    pollfd wait{client.get(), POLLIN, 0};
    char heard = 0;
    return poll(&wait, 1, test::stretched_milliseconds(std::chrono::seconds(10))) == 1 &&
           recv(client.get(), &heard, 1, 0) == 1 && heard == letter;
  }

  // The daemon removes the conntrack entry of a quiet flow, and needs some seconds to detect that.
  void a_client_with_a_conntrack_entry_is_not_refused() {
    const Server u('u', SOCK_DGRAM);
    rig().settings.relay.udp_timeout = client_flow_time();
    ServiceSpec udp = named("svc1", {u.endpoint()});
    udp.protocol = abi::Protocol::kUdp;
    ok(rig().full({udp}));
    const lib::Fd client = udp_client(rig().port("ns1/svc1"));
    CPPUNIT_ASSERT_EQUAL('u', ask_again(client, SOCK_DGRAM, &u));
    wait_for_the_end_of_flows();
    retries(retire(60));
    for (std::uint32_t second = 1; second < 10; ++second) {
      rig().host.pass(1);
      retries(retire(60 - second));
    }
    CPPUNIT_ASSERT_EQUAL('u', ask_again(client, SOCK_DGRAM, &u));
  }

  void the_other_family_is_not_affected() {
    if (!test::has_ipv6()) return;
    UserspaceRig six(abi::Family::kIpv6);
    const lib::Fd listener = test::bound(abi::Family::kIpv6, SOCK_STREAM, test::loopback(abi::Family::kIpv6), 0);
    CPPUNIT_ASSERT_EQUAL(0, listen(listener.get(), 16));
    ServiceSpec spec;
    spec.cluster_ip = "fd00::41";
    spec.endpoints = {{"::1", test::port_of(listener), false, test::Condition::kReady}};
    test::NodeSpec node;
    node.ip = "fd00::2";
    node.detector = abi::LocalDetectorKind::kNone;
    ok(six.full({spec}, node));
    ok(rig().full({named("svc1", {endpoint()})}));
    const Path path(rig().port("ns1/svc1"), listener_);
    const std::uint16_t port = six.port("ns1/svc1");
    ok(six.retire(six.backend(), 0));
    CPPUNIT_ASSERT_EQUAL(ECONNREFUSED, test::connect_error(abi::Family::kIpv6, port));
    CPPUNIT_ASSERT(path.works());
    six.stop();
    CPPUNIT_ASSERT(path.works());
    CPPUNIT_ASSERT_EQUAL(0, test::connect_error(kV4, rig().port("ns1/svc1")));
  }

  void a_failure_is_retried() {
    const Server a('a', SOCK_STREAM);
    ok(rig().full({named("svc1", {a.endpoint()})}));
    const std::uint16_t port = rig().port("ns1/svc1");
    rig().kernel.fail_next = 4;
    retries(retire(60));
    CPPUNIT_ASSERT_EQUAL('a', ask(port, SOCK_STREAM, &a));
    CPPUNIT_ASSERT_EQUAL(port, rig().port("ns1/svc1"));
    retries(retire(60));
    CPPUNIT_ASSERT(rig().ports("ns1/svc1").empty());
    rig().host.pass(3);
    rig().kernel.fail_next = 4;
    retries(retire(57));
    CPPUNIT_ASSERT(wait_until([&] { return retire(57) == abi::Code::kOk; }));
    CPPUNIT_ASSERT(rig().kernel.text().find("KUBE-") == std::string::npos);
  }

  void leftover_state_of_an_earlier_process_is_removed() {
    rig().host.descriptors = std::make_unique<test::FakeDescriptors>();
    const std::string before = rig().kernel.text();
    ok(rig().full({guarded()}));
    rig().stop();
    CPPUNIT_ASSERT(!rig().host.descriptors->all().empty());
    ok(retire(30));
    CPPUNIT_ASSERT_EQUAL(before, rig().kernel.text());
    CPPUNIT_ASSERT(rig().host.descriptors->all().empty());
    // The file of a running process is not touched.
    ok(rig().full({guarded()}));
    const std::string written = rig().kernel.text();
    rig().stop();
    ok(rig().retire(rig().backend(), 30, {"iptables/*"}));
    CPPUNIT_ASSERT_EQUAL(written, rig().kernel.text());
    CPPUNIT_ASSERT(!rig().host.descriptors->all().empty());
  }

  void node_ports_are_released_after_the_grace_period() {
    ServiceSpec spec = named("svc1", {endpoint()});
    spec.node_port = test::free_port(kV4);
    ok(rig().full({spec}));
    const Path path(rig().port("ns1/svc1"), listener_);
    const auto is_free = [&] { return static_cast<bool>(test::bound(kV4, SOCK_STREAM, {}, spec.node_port)); };
    retries(retire(60));
    CPPUNIT_ASSERT(!is_free());
    rig().host.pass(3);
    retries(retire(57));
    CPPUNIT_ASSERT(is_free());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RetirementTest);

}  // namespace retirement_test
}  // namespace sluice::userspace
