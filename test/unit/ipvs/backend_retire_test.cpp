// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One backend after another: before an iptables, nftables or userspace backend, behind one, before itself; and when the
// daemon ends in the middle.
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/ipvs/backend_fixture.hpp"
#include "test/unit/ipvs/fake_tracking.hpp"

namespace sluice::test {
namespace backend_retire_test {

const std::vector<std::string> kModeIptables = {"iptables/nat/KUBE-SERVICES", "iptables/nat/KUBE-POSTROUTING",
                                                "iptables/nat/KUBE-MARK-MASQ", "iptables/filter/KUBE-FORWARD"};

class IpvsRetireTest : public IpvsFixture {
  CPPUNIT_TEST_SUITE(IpvsRetireTest);
  CPPUNIT_TEST(keeps_what_the_successor_claims);
  CPPUNIT_TEST(before_itself_it_leaves_everything);
  CPPUNIT_TEST(drains_step_by_step);
  CPPUNIT_TEST(what_leads_here_goes_before_everything);
  CPPUNIT_TEST(connections_that_are_over_hold_nobody_up);
  CPPUNIT_TEST(persistence_holds_nobody_up);
  CPPUNIT_TEST(an_address_goes_with_its_last_virtual_server);
  CPPUNIT_TEST(an_address_this_node_sends_from_stays);
  CPPUNIT_TEST(this_node_sends_from_elsewhere);
  CPPUNIT_TEST(it_does_so_no_more_when_it_serves_again);
  CPPUNIT_TEST(flows_of_the_successor_are_kept_meanwhile);
  CPPUNIT_TEST(at_the_end_of_its_time_all_goes);
  CPPUNIT_TEST(a_process_that_has_applied_nothing_drains);
  CPPUNIT_TEST(a_failed_step_is_repeated);
  CPPUNIT_TEST(an_apply_takes_everything_back_in);
  CPPUNIT_TEST(a_newcomer_leads_nobody_here_before_it_is_ready);
  CPPUNIT_TEST(tells_who_is_bound);
  CPPUNIT_TEST(who_is_bound_already_stays_so);
  CPPUNIT_TEST_SUITE_END();

  static constexpr const char* kForeign = "203.0.113.9:80/TCP rr 10.77.0.1:8080*1\n";

  static bool retrying(IpvsBench& bench, const std::vector<std::string>& claims = {}, std::uint32_t seconds = 30) {
    const abi::Code code = bench.retire(claims, seconds);
    if (code != abi::Code::kRetry) ok(bench, code);
    return code == abi::Code::kRetry;
  }
  static ipvs::FakeServerKernel::Real& first_real(IpvsBench& bench, const std::string& service_ip) {
    return bench.servers.held.at(bench.key(service_ip, 80)).real.begin()->second;
  }
  static void connect(IpvsBench& bench, const std::string& service_ip, const std::string& state, std::uint32_t expires,
                      std::uint16_t client_port = 40000, std::uint16_t port = 80) {
    auto& server = bench.servers.held.at(bench.key(service_ip, port));
    ipvs::ServerConnection one;
    one.server = server.attributes.key;
    one.client = address("192.0.2.7");
    one.client_port = client_port;
    one.real = server.real.begin()->first;
    one.state = state;
    one.expires = expires;
    bench.connections.push_back(one);
    if (!one.is_template()) ++server.real.begin()->second.connections;
  }
  static void is_all_gone(IpvsBench& bench) {
    CPPUNIT_ASSERT_EQUAL(std::string(kForeign), bench.servers_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.sets.text());
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.links_text());
    CPPUNIT_ASSERT_MESSAGE(bench.rules.text(), !has(bench.rules.text(), "KUBE-"));
  }

  void keeps_what_the_successor_claims() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    ok(bench, bench.retire(kModeIptables));
    CPPUNIT_ASSERT(bench.rules.has("nat", "KUBE-SERVICES") && !bench.rules.has("nat", "KUBE-NODE-PORT"));
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.servers_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.links_text());
  }

  void before_itself_it_leaves_everything() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    connect(bench, "172.30.0.1", "ESTABLISHED", 800);
    // The successor is at work on its own thread.
    bench.sets.create("KUBE-CLUSTER-IP-N", ipvs::SetType::kIpPort, 65536);
    const std::string whole = bench.kernel_text();
    const std::uint64_t messages = bench.messages();
    for (const std::uint32_t seconds : {30u, 0u}) {
      bench.rules.restores.clear();
      ok(bench, bench.retire(bench.claims(), seconds));
      CPPUNIT_ASSERT_EQUAL(whole, bench.kernel_text());
      CPPUNIT_ASSERT(bench.rules.restores.empty() && bench.messages() == messages);
    }
    // What stands is taken over; with another scheduler it is edited in place.
    bench.restart_with({{"ipvs.scheduler", "lc"}});
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, first_real(bench, "172.30.0.1").connections);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, bench.servers.cut);
    CPPUNIT_ASSERT(has(bench.servers_text(), "172.30.0.1:80/TCP lc "));
  }

  void drains_step_by_step() {
    for (const bool iptables : {false, true}) {
      const std::vector<std::string> claims = iptables ? kModeIptables : std::vector<std::string>{"nft/ip/kube-proxy"};
      IpvsBench bench;
      put_server(bench, bench.key("203.0.113.9", 80));
      ok(bench, bench.full(services()));
      connect(bench, "172.30.0.1", "ESTABLISHED", 800);
      CPPUNIT_ASSERT(retrying(bench, claims));
      CPPUNIT_ASSERT_EQUAL(std::string("connections to 1 virtual servers live on"), std::string(bench.error.message));
      const std::string now = bench.servers_text();
      CPPUNIT_ASSERT_MESSAGE(now, has(now, "172.30.0.1:80/TCP rr 10.0.0.1:8080*0 10.0.0.2:8080*0\n"));
      CPPUNIT_ASSERT_MESSAGE(now, has(now, kForeign) && bench.servers.held.size() == 2);
      CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 172.30.0.1\n"), bench.links_text());
      // New connections are led elsewhere; the rest of the rules is for what is established.
      CPPUNIT_ASSERT_EQUAL(std::size_t{iptables ? 1u : 0u}, bench.rules.rules("nat", "PREROUTING").size());
      for (const char* chain : {"KUBE-IPVS-FILTER", "KUBE-PROXY-FIREWALL", "KUBE-FORWARD"}) {
        CPPUNIT_ASSERT_MESSAGE(chain, bench.rules.has("filter", chain));
      }
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.rules.rules("nat", "KUBE-IPVS-HANDOVER").size());
      const std::uint64_t messages = bench.messages();
      CPPUNIT_ASSERT(retrying(bench, claims, 29));
      CPPUNIT_ASSERT_EQUAL(messages, bench.messages());  // nothing has changed, nothing is written
      first_real(bench, "172.30.0.1").connections = 0;
      CPPUNIT_ASSERT(!retrying(bench, claims, 28));
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, bench.servers.cut);
      if (iptables) {
        CPPUNIT_ASSERT_EQUAL(std::string(kForeign), bench.servers_text());
        CPPUNIT_ASSERT(bench.rules.has("nat", "KUBE-SERVICES") && !bench.rules.has("nat", "KUBE-IPVS-HANDOVER"));
        CPPUNIT_ASSERT_EQUAL(std::string(), bench.sets.text());
      } else {
        is_all_gone(bench);
      }
    }
  }

  void what_leads_here_goes_before_everything() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    connect(bench, "172.30.0.1", "ESTABLISHED", 800);
    bool checked = false;
    bench.servers.meddle = [&](const ipvs::ServerCommand& command) {
      CPPUNIT_ASSERT(bench.rules.rules("nat", "PREROUTING").empty() && bench.rules.rules("nat", "OUTPUT").empty());
      // Where there was nobody, the server went only after its weight.
      if (command.kind == ipvs::ServerCommandKind::kDeleteServer) {
        CPPUNIT_ASSERT(!has(bench.links_text(), sdk::to_string(command.server.key.address, kFamily) + " "));
      }
      checked = true;
    };
    CPPUNIT_ASSERT(retrying(bench));
    CPPUNIT_ASSERT(checked);
  }

  void connections_that_are_over_hold_nobody_up() {
    IpvsBench bench;
    put_server(bench, bench.key("203.0.113.9", 80));
    ok(bench, bench.full(services()));
    connect(bench, "172.30.0.1", "TIME_WAIT", 100);
    connect(bench, "172.30.0.1", "FIN_WAIT", 100, 40001);  // data may still come
    CPPUNIT_ASSERT(retrying(bench));
    bench.connections.pop_back();
    CPPUNIT_ASSERT(retrying(bench));  // hidden, as it is counted
    --first_real(bench, "172.30.0.1").connections;
    bench.connections_readable = false;  // nobody knows what they are
    CPPUNIT_ASSERT(retrying(bench));
    bench.connections_readable = true;
    CPPUNIT_ASSERT(!retrying(bench));
    is_all_gone(bench);
    CPPUNIT_ASSERT_MESSAGE(bench.said(abi::Severity::kInfo), !has(bench.said(abi::Severity::kInfo), "time is up"));
  }

  void persistence_holds_nobody_up() {
    IpvsBench bench;
    put_server(bench, bench.key("203.0.113.9", 80));
    ok(bench, bench.full(services()));
    connect(bench, "172.30.0.1", "ASSURED", 10'000, 0);
    connect(bench, "172.30.0.1", "TIME_WAIT", 100);  // so that single connections are looked at
    CPPUNIT_ASSERT(!retrying(bench));
    is_all_gone(bench);
  }

  void an_address_goes_with_its_last_virtual_server() {
    std::vector<ServiceSpec> specs = services();
    specs[1].vips = {};
    ServiceSpec same = specs[0];  // another port of it
    same.name += "-b";
    same.port = 81;
    same.node_port = 0;
    specs.push_back(same);
    IpvsBench bench;
    ok(bench, bench.full(specs));
    connect(bench, "172.30.0.1", "ESTABLISHED", 800);
    CPPUNIT_ASSERT(bench.servers.held.contains(bench.key("172.30.0.1", 81)));
    CPPUNIT_ASSERT(retrying(bench));
    CPPUNIT_ASSERT(!bench.servers.held.contains(bench.key("172.30.0.1", 81)));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 172.30.0.1\n"), bench.links_text());
  }

  // Of a process here, led to an endpoint by the successor: without the address nothing would reach it any more.
  void an_address_this_node_sends_from_stays() {
    IpvsBench bench;
    put_server(bench, bench.key("203.0.113.9", 80));
    ok(bench, bench.full(services()));
    bench.connected = {address("172.30.0.2"), address("192.168.0.2")};
    CPPUNIT_ASSERT(retrying(bench));
    CPPUNIT_ASSERT_EQUAL(std::string("connections of this node from 1 service addresses live on"),
                         std::string(bench.error.message));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 172.30.0.2\n"), bench.links_text());
    CPPUNIT_ASSERT_EQUAL(std::string(kForeign), bench.servers_text());
    bench.connected = {address("192.168.0.2")};
    CPPUNIT_ASSERT(!retrying(bench));
    is_all_gone(bench);
  }

  // From the first step on no new connection needs a service address as its source.
  void this_node_sends_from_elsewhere() {
    const auto first_step = [](IpvsBench& bench) {
      ok(bench, bench.full(services()));
      bench.links.put("eth0", "veth").addresses[kFamily] = {address("192.168.0.2")};
      connect(bench, "172.30.0.1", "ESTABLISHED", 800);
      CPPUNIT_ASSERT(retrying(bench));
      CPPUNIT_ASSERT(retrying(bench));
    };
    IpvsBench bench;
    bench.usual_source = address("192.168.0.2");
    first_step(bench);
    CPPUNIT_ASSERT_EQUAL(1, bench.links.calls["set_source"]);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.links.sources.size());  // the others have gone
    CPPUNIT_ASSERT(bench.links.sources.at(address("172.30.0.1")) == address("192.168.0.2"));
    // No way out, and an address that is none of the node's.
    for (const auto& source : {std::optional<abi::Address>(), std::optional(address("172.30.0.1"))}) {
      IpvsBench other;
      other.usual_source = source;
      first_step(other);
      CPPUNIT_ASSERT_EQUAL(0, other.links.calls["set_source"]);
    }
    IpvsBench refusing;
    refusing.usual_source = address("192.168.0.2");
    refusing.links.before = [](const std::string& call) {
      if (call == "set_source") throw sdk::Failure(abi::Code::kKernel, "172.30.0.1", "cannot do it");
    };
    first_step(refusing);
    CPPUNIT_ASSERT(has(refusing.said(abi::Severity::kWarning), "end with the drain"));
  }

  void it_does_so_no_more_when_it_serves_again() {
    for (const bool other_process : {false, true}) {
      IpvsBench bench;
      bench.usual_source = address("192.168.0.2");
      bench.links.put("eth0", "veth").addresses[kFamily] = {address("192.168.0.2")};
      ok(bench, bench.full(services()));
      CPPUNIT_ASSERT_EQUAL(0, bench.links.calls["restore_source"]);  // a node where nobody was
      connect(bench, "172.30.0.1", "ESTABLISHED", 800);
      CPPUNIT_ASSERT(retrying(bench));
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.links.sources.size());  // those that were freed have none
      if (other_process) bench.restart();
      ok(bench, bench.full(services()));
      CPPUNIT_ASSERT(bench.links.sources.empty());
      ok(bench, bench.full(services()));
      CPPUNIT_ASSERT_EQUAL(1, bench.links.calls["restore_source"]);
    }
  }

  void flows_of_the_successor_are_kept_meanwhile() {
    const auto tracking = std::make_shared<Tracking>();
    IpvsBench bench;
    put_server(bench, bench.key("203.0.113.9", 80));
    bench.tracking = [tracking] { return std::make_unique<TrackingWire>(tracking); };
    bench.restart();
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT_EQUAL(0, tracking->listening);
    bool before = false;
    bench.servers.meddle = [&](const ipvs::ServerCommand&) { before = tracking->listening == 1; };
    connect(bench, "172.30.0.1", "ESTABLISHED", 800);
    CPPUNIT_ASSERT(retrying(bench));
    CPPUNIT_ASSERT(before);
    CPPUNIT_ASSERT(retrying(bench));
    CPPUNIT_ASSERT_EQUAL(1, tracking->listening);
    // It serves again, and then goes for good.
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT_EQUAL(0, tracking->listening);
    CPPUNIT_ASSERT(retrying(bench));
    CPPUNIT_ASSERT_EQUAL(1, tracking->listening);
    bench.connections.clear();
    first_real(bench, "172.30.0.1").connections = 0;
    CPPUNIT_ASSERT(!retrying(bench));
    CPPUNIT_ASSERT_EQUAL(0, tracking->listening);
    is_all_gone(bench);
    // Clean-up has no successor.
    bench.restart();
    ok(bench, bench.full(services()));
    ok(bench, bench.cleanup());
    CPPUNIT_ASSERT_EQUAL(0, tracking->listening);
  }

  void at_the_end_of_its_time_all_goes() {
    IpvsBench bench;
    put_server(bench, bench.key("203.0.113.9", 80));
    ok(bench, bench.full(services()));
    connect(bench, "172.30.0.1", "ESTABLISHED", 800);
    bench.connected = {address("172.30.0.2")};
    CPPUNIT_ASSERT(retrying(bench));
    ok(bench, bench.retire({}, 0));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, bench.servers.cut);
    is_all_gone(bench);
    CPPUNIT_ASSERT(has(bench.said(abi::Severity::kInfo),
                       "connections to 1 virtual servers and connections of this node from 1 service addresses end now"));
  }

  void a_process_that_has_applied_nothing_drains() {
    IpvsBench bench;
    put_server(bench, bench.key("203.0.113.9", 80));
    ok(bench, bench.full(services()));
    connect(bench, "172.30.0.1", "ESTABLISHED", 800);
    connect(bench, "192.168.0.2", "ESTABLISHED", 800, 40000, 30001);  // the node port
    bench.restart();
    CPPUNIT_ASSERT(retrying(bench));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, bench.servers.held.size());
    CPPUNIT_ASSERT_EQUAL(0, first_real(bench, "172.30.0.1").weight);
    bench.restart();  // and in the middle of it
    CPPUNIT_ASSERT(retrying(bench));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, bench.servers.held.size());
    bench.servers.held.at(bench.key("172.30.0.1", 80)).real.begin()->second.connections = 0;
    bench.restart();
    CPPUNIT_ASSERT(retrying(bench));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy\n"), bench.links_text());
    bench.servers.held.at(bench.key("192.168.0.2", 30001)).real.begin()->second.connections = 0;
    bench.restart();
    CPPUNIT_ASSERT(!retrying(bench));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, bench.servers.cut);
    is_all_gone(bench);
    // Nor is anything left to do.
    bench.restart();
    CPPUNIT_ASSERT(!retrying(bench));
    is_all_gone(bench);
  }

  void a_failed_step_is_repeated() {
    for (long left = 0;; ++left) {
      IpvsBench bench;
      put_server(bench, bench.key("203.0.113.9", 80));
      ok(bench, bench.full(services()));
      connect(bench, "172.30.0.1", "ESTABLISHED", 800);
      bench.servers.dumps_left = left;
      const abi::Code code = bench.retire({}, 30);
      CPPUNIT_ASSERT(code == abi::Code::kRetry);
      const bool failed = has(bench.error.message, "the exchange with IPVS failed");
      bench.servers.dumps_left = -1;
      CPPUNIT_ASSERT(retrying(bench));
      CPPUNIT_ASSERT_EQUAL(std::size_t{2}, bench.servers.held.size());
      first_real(bench, "172.30.0.1").connections = 0;
      CPPUNIT_ASSERT(!retrying(bench));
      is_all_gone(bench);
      if (!failed) break;
      CPPUNIT_ASSERT(left < 100);
    }
  }

  void an_apply_takes_everything_back_in() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    const std::string whole = bench.kernel_text();
    connect(bench, "172.30.0.1", "ESTABLISHED", 800);
    CPPUNIT_ASSERT(retrying(bench));
    CPPUNIT_ASSERT(bench.verify() == abi::Code::kNeedFull);
    for (const bool other_process : {false, true}) {
      if (other_process) bench.restart();
      ok(bench, bench.full(services()));
      CPPUNIT_ASSERT_EQUAL(whole, bench.kernel_text());
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, first_real(bench, "172.30.0.1").connections);
      ok(bench, bench.verify());
      CPPUNIT_ASSERT(retrying(bench));  // a second time
      CPPUNIT_ASSERT_EQUAL(0, first_real(bench, "172.30.0.1").weight);
    }
  }

  void a_newcomer_leads_nobody_here_before_it_is_ready() {
    for (const bool predecessor : {false, true}) {
      IpvsBench bench;
      bench.predecessor_serves = predecessor;
      bench.restart();
      bool bound = false;
      bench.links.before = [&](const std::string& call) {
        if (call != "bind") return;
        bound = true;
        CPPUNIT_ASSERT(bench.rules.has("nat", "KUBE-IPVS-HANDOVER") && bench.rules.has("filter", "KUBE-IPVS-FILTER"));
        CPPUNIT_ASSERT_EQUAL(!predecessor, bench.rules.has("nat", "KUBE-SERVICES"));
        CPPUNIT_ASSERT_EQUAL(std::size_t{5}, bench.servers.held.size());
      };
      ok(bench, bench.full(services()));
      CPPUNIT_ASSERT(bound && bench.rules.has("nat", "KUBE-SERVICES"));
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.rules.rules("nat", "PREROUTING").size());
      // Given up, by 0 seconds and the claims of who serves.
      ok(bench, bench.retire(kModeIptables, 0));
      CPPUNIT_ASSERT_EQUAL(std::string(), bench.servers_text() + bench.links_text() + bench.sets.text());
    }
  }

  void tells_who_is_bound() {
    std::vector<ServiceSpec> specs = services();
    specs[1].affinity_seconds = 600;
    specs[1].source_ranges = {};
    IpvsBench bench;
    ok(bench, bench.full(specs));
    connect(bench, "172.30.0.2", "ASSURED", 500, 0);
    connect(bench, "1.2.3.4", "NONE", 900, 0);  // another frontend, bound for longer
    bench.connections.back().real.port = 8081;
    connect(bench, "172.30.0.2", "ESTABLISHED", 700);
    connect(bench, "172.30.0.1", "NONE", 500, 0);  // has no affinity any more
    CPPUNIT_ASSERT_EQUAL("bench/svc-1:p80 192.0.2.7 10.0.0.3:8081 600\n" + std::string(), bench.exported());
    bench.host.step = 5'000'000'000;  // each line takes that long
    CPPUNIT_ASSERT_EQUAL("bench/svc-1:p80 192.0.2.7 10.0.0.3:8080 500\n" + std::string(), bench.exported());
    CPPUNIT_ASSERT(has(bench.said(abi::Severity::kWarning), "not all connections of IPVS could be read"));
    bench.has_ipvs = false;
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.exported());
  }

  // From one backend of this mode to the next; before that one has applied anything.
  void who_is_bound_already_stays_so() {
    std::vector<ServiceSpec> specs = services();
    specs[1].affinity_seconds = 600;
    specs[1].source_ranges = {};
    IpvsBench bench;
    ok(bench, bench.full(specs));
    connect(bench, "172.30.0.2", "ASSURED", 500, 0);
    bench.restart();
    abi::AffinityClient client{};
    client.key.protocol = abi::Protocol::kTcp;
    client.client = bench.connections[0].client;
    client.endpoint = bench.connections[0].real.address;
    client.endpoint_port = bench.connections[0].real.port;
    client.remaining_seconds = 500;
    const auto import = [&](std::vector<abi::AffinityClient> clients) {
      return bench.affinity()->import_clients(sdk::array(clients.data(), clients.size()), &bench.error);
    };
    ok(bench, import({}));
    ok(bench, import({client, client}));
    abi::AffinityClient other = client;
    other.client = address("192.0.2.8");
    CPPUNIT_ASSERT(import({client, other}) == abi::Code::kUnsupported);
    CPPUNIT_ASSERT(has(bench.error.message, "IPVS takes no clients that are bound already"));
    other.remaining_seconds = 3;  // may have ended
    ok(bench, import({client, other}));
    for (int what = 0; what < 3; ++what) {
      other = client;
      if (what == 0) other.endpoint = address("10.0.0.99");
      if (what == 1) ++other.endpoint_port;
      if (what == 2) other.key.protocol = abi::Protocol::kUdp;
      CPPUNIT_ASSERT(import({other}) == abi::Code::kUnsupported);
    }
    bench.connections[0].client_port = 40000;  // a connection binds nobody
    CPPUNIT_ASSERT(import({client}) == abi::Code::kUnsupported);
    bench.connections[0].client_port = 0;
    bench.has_ipvs = false;
    CPPUNIT_ASSERT(import({client}) == abi::Code::kUnsupported);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsRetireTest);

}  // namespace backend_retire_test
}  // namespace sluice::test
