// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Retirement: in favour of an iptables, nftables or userspace backend, after one, in favour of itself; and restarts
// of the daemon in between.
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/ipvs/backend_fixture.hpp"
#include "test/unit/ipvs/fake_tracking.hpp"

namespace sluice::test {
namespace backend_retire_test {

const std::vector<std::string> kIptablesMode = {"iptables/nat/KUBE-SERVICES", "iptables/nat/KUBE-POSTROUTING",
                                                "iptables/nat/KUBE-MARK-MASQ", "iptables/filter/KUBE-FORWARD"};

class IpvsRetireTest : public IpvsFixture {
  CPPUNIT_TEST_SUITE(IpvsRetireTest);
  CPPUNIT_TEST(keeps_claims_of_the_new_backend);
  CPPUNIT_TEST(another_instance_adopts_everything);
  CPPUNIT_TEST(drains_step_by_step);
  CPPUNIT_TEST(jumps_are_removed_before_everything_else);
  CPPUNIT_TEST(ended_connections_do_not_delay_retirement);
  CPPUNIT_TEST(persistence_templates_do_not_delay_retirement);
  CPPUNIT_TEST(an_address_goes_with_its_last_virtual_server);
  CPPUNIT_TEST(a_source_address_of_a_local_connection_stays);
  CPPUNIT_TEST(local_connections_get_the_usual_source);
  CPPUNIT_TEST(serving_again_restores_the_source);
  CPPUNIT_TEST(flows_of_the_new_backend_are_kept);
  CPPUNIT_TEST(drain_timeout_removes_everything);
  CPPUNIT_TEST(a_process_that_has_applied_nothing_drains);
  CPPUNIT_TEST(a_failed_step_is_repeated);
  CPPUNIT_TEST(an_apply_restores_the_weights);
  CPPUNIT_TEST(a_new_backend_receives_no_packets_before_it_is_ready);
  CPPUNIT_TEST(exports_bound_clients);
  CPPUNIT_TEST(imported_clients_with_templates_stay_bound);
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

  void keeps_claims_of_the_new_backend() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    ok(bench, bench.retire(kIptablesMode));
    CPPUNIT_ASSERT(bench.rules.has("nat", "KUBE-SERVICES") && !bench.rules.has("nat", "KUBE-NODE-PORT"));
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.servers_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.links_text());
  }

  void another_instance_adopts_everything() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    connect(bench, "172.30.0.1", "ESTABLISHED", 800);
    // The new backend works in another thread.
    bench.sets.create("KUBE-CLUSTER-IP-N", ipvs::SetType::kIpPort, 65536);
    const std::string whole = bench.kernel_text();
    const std::uint64_t messages = bench.messages();
    for (const std::uint32_t seconds : {30u, 0u}) {
      bench.rules.restores.clear();
      ok(bench, bench.retire(bench.claims(), seconds));
      CPPUNIT_ASSERT_EQUAL(whole, bench.kernel_text());
      CPPUNIT_ASSERT(bench.rules.restores.empty() && bench.messages() == messages);
    }
    // The state is adopted; another scheduler is edited in place.
    bench.restart_with({{"ipvs.scheduler", "lc"}});
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, first_real(bench, "172.30.0.1").connections);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, bench.servers.cut);
    CPPUNIT_ASSERT(has(bench.servers_text(), "172.30.0.1:80/TCP lc "));
  }

  void drains_step_by_step() {
    for (const bool iptables : {false, true}) {
      const std::vector<std::string> claims = iptables ? kIptablesMode : std::vector<std::string>{"nft/ip/kube-proxy"};
      IpvsBench bench;
      put_server(bench, bench.key("203.0.113.9", 80));
      ok(bench, bench.full(services()));
      connect(bench, "172.30.0.1", "ESTABLISHED", 800);
      CPPUNIT_ASSERT(retrying(bench, claims));
      CPPUNIT_ASSERT_EQUAL(std::string("draining: connections to 1 virtual servers"), std::string(bench.error.message));
      const std::string now = bench.servers_text();
      CPPUNIT_ASSERT_MESSAGE(now, has(now, "172.30.0.1:80/TCP rr 10.0.0.1:8080*0 10.0.0.2:8080*0\n"));
      CPPUNIT_ASSERT_MESSAGE(now, has(now, kForeign) && bench.servers.held.size() == 2);
      CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 172.30.0.1\n"), bench.links_text());
      // New connections go elsewhere; the remaining rules are for established ones.
      CPPUNIT_ASSERT_EQUAL(std::size_t{iptables ? 1u : 0u}, bench.rules.rules("nat", "PREROUTING").size());
      for (const char* chain : {"KUBE-IPVS-FILTER", "KUBE-PROXY-FIREWALL", "KUBE-FORWARD"}) {
        CPPUNIT_ASSERT_MESSAGE(chain, bench.rules.has("filter", chain));
      }
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.rules.rules("nat", "KUBE-IPVS-HANDOVER").size());
      const std::uint64_t messages = bench.messages();
      CPPUNIT_ASSERT(retrying(bench, claims, 29));
      CPPUNIT_ASSERT_EQUAL(messages, bench.messages());  // no change, no write
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

  void jumps_are_removed_before_everything_else() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    connect(bench, "172.30.0.1", "ESTABLISHED", 800);
    bool checked = false;
    bench.servers.meddle = [&](const ipvs::ServerCommand& command) {
      CPPUNIT_ASSERT(bench.rules.rules("nat", "PREROUTING").empty() && bench.rules.rules("nat", "OUTPUT").empty());
      // Without connections, the weight is lowered before the server is removed.
      if (command.kind == ipvs::ServerCommandKind::kDeleteServer) {
        CPPUNIT_ASSERT(!has(bench.links_text(), sdk::to_string(command.server.key.address, kFamily) + " "));
      }
      checked = true;
    };
    CPPUNIT_ASSERT(retrying(bench));
    CPPUNIT_ASSERT(checked);
  }

  void ended_connections_do_not_delay_retirement() {
    IpvsBench bench;
    put_server(bench, bench.key("203.0.113.9", 80));
    ok(bench, bench.full(services()));
    connect(bench, "172.30.0.1", "TIME_WAIT", 100);
    connect(bench, "172.30.0.1", "FIN_WAIT", 100, 40001);  // half-closed: data may still flow
    CPPUNIT_ASSERT(retrying(bench));
    bench.connections.pop_back();
    CPPUNIT_ASSERT(retrying(bench));  // hidden by the listing, but counted
    --first_real(bench, "172.30.0.1").connections;
    bench.connections_readable = false;  // their states are unknown
    CPPUNIT_ASSERT(retrying(bench));
    bench.connections_readable = true;
    CPPUNIT_ASSERT(!retrying(bench));
    is_all_gone(bench);
    CPPUNIT_ASSERT_MESSAGE(bench.logged(abi::Severity::kInfo),
                           !has(bench.logged(abi::Severity::kInfo), "drain timeout expired"));
  }

  void persistence_templates_do_not_delay_retirement() {
    IpvsBench bench;
    put_server(bench, bench.key("203.0.113.9", 80));
    ok(bench, bench.full(services()));
    connect(bench, "172.30.0.1", "ASSURED", 10'000, 0);
    connect(bench, "172.30.0.1", "TIME_WAIT", 100);  // so that single connections are listed
    CPPUNIT_ASSERT(!retrying(bench));
    is_all_gone(bench);
  }

  void an_address_goes_with_its_last_virtual_server() {
    std::vector<ServiceSpec> specs = services();
    specs[1].vips = {};
    ServiceSpec same = specs[0];  // another port of the same Service
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

  // A local process whose connection goes through the new backend: without its address it would receive no packets.
  void a_source_address_of_a_local_connection_stays() {
    IpvsBench bench;
    put_server(bench, bench.key("203.0.113.9", 80));
    ok(bench, bench.full(services()));
    bench.connected = {address("172.30.0.2"), address("192.168.0.2")};
    CPPUNIT_ASSERT(retrying(bench));
    CPPUNIT_ASSERT_EQUAL(std::string("draining: connections of this node from 1 service addresses"),
                         std::string(bench.error.message));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 172.30.0.2\n"), bench.links_text());
    CPPUNIT_ASSERT_EQUAL(std::string(kForeign), bench.servers_text());
    bench.connected = {address("192.168.0.2")};
    CPPUNIT_ASSERT(!retrying(bench));
    is_all_gone(bench);
  }

  // From the first step on, new connections do not use a service address as their source.
  void local_connections_get_the_usual_source() {
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
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.links.sources.size());  // the others are removed
    CPPUNIT_ASSERT(bench.links.sources.at(address("172.30.0.1")) == address("192.168.0.2"));
    // No route to other hosts, and a source that is not an address of the node.
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
    CPPUNIT_ASSERT(has(refusing.logged(abi::Severity::kWarning), "end with the drain"));
  }

  void serving_again_restores_the_source() {
    for (const bool other_process : {false, true}) {
      IpvsBench bench;
      bench.usual_source = address("192.168.0.2");
      bench.links.put("eth0", "veth").addresses[kFamily] = {address("192.168.0.2")};
      ok(bench, bench.full(services()));
      CPPUNIT_ASSERT_EQUAL(0, bench.links.calls["restore_source"]);  // a node without leftover state
      connect(bench, "172.30.0.1", "ESTABLISHED", 800);
      CPPUNIT_ASSERT(retrying(bench));
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.links.sources.size());  // removed addresses have none
      if (other_process) bench.restart();
      ok(bench, bench.full(services()));
      CPPUNIT_ASSERT(bench.links.sources.empty());
      ok(bench, bench.full(services()));
      CPPUNIT_ASSERT_EQUAL(1, bench.links.calls["restore_source"]);
    }
  }

  void flows_of_the_new_backend_are_kept() {
    const auto tracking = std::make_shared<Tracking>();
    IpvsBench bench;
    put_server(bench, bench.key("203.0.113.9", 80));
    bench.tracking = [tracking] { return std::make_unique<TrackingSocket>(tracking); };
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
    // It serves again, and is retired for good later.
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT_EQUAL(0, tracking->listening);
    CPPUNIT_ASSERT(retrying(bench));
    CPPUNIT_ASSERT_EQUAL(1, tracking->listening);
    bench.connections.clear();
    first_real(bench, "172.30.0.1").connections = 0;
    CPPUNIT_ASSERT(!retrying(bench));
    CPPUNIT_ASSERT_EQUAL(0, tracking->listening);
    is_all_gone(bench);
    // A clean-up has no new backend.
    bench.restart();
    ok(bench, bench.full(services()));
    ok(bench, bench.cleanup());
    CPPUNIT_ASSERT_EQUAL(0, tracking->listening);
  }

  void drain_timeout_removes_everything() {
    IpvsBench bench;
    put_server(bench, bench.key("203.0.113.9", 80));
    ok(bench, bench.full(services()));
    connect(bench, "172.30.0.1", "ESTABLISHED", 800);
    bench.connected = {address("172.30.0.2")};
    CPPUNIT_ASSERT(retrying(bench));
    ok(bench, bench.retire({}, 0));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, bench.servers.cut);
    is_all_gone(bench);
    CPPUNIT_ASSERT(
        has(bench.logged(abi::Severity::kInfo),
            "drain timeout expired, ending connections to 1 virtual servers and connections of this node from 1 "
            "service addresses"));
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
    bench.restart();  // a restart in between
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
    // A second call has nothing to do.
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

  void an_apply_restores_the_weights() {
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

  void a_new_backend_receives_no_packets_before_it_is_ready() {
    for (const bool old_backend : {false, true}) {
      IpvsBench bench;
      bench.predecessor_serves = old_backend;
      bench.restart();
      bool bound = false;
      bench.links.before = [&](const std::string& call) {
        if (call != "bind") return;
        bound = true;
        CPPUNIT_ASSERT(bench.rules.has("nat", "KUBE-IPVS-HANDOVER") && bench.rules.has("filter", "KUBE-IPVS-FILTER"));
        CPPUNIT_ASSERT_EQUAL(!old_backend, bench.rules.has("nat", "KUBE-SERVICES"));
        CPPUNIT_ASSERT_EQUAL(std::size_t{5}, bench.servers.held.size());
      };
      ok(bench, bench.full(services()));
      CPPUNIT_ASSERT(bound && bench.rules.has("nat", "KUBE-SERVICES"));
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.rules.rules("nat", "PREROUTING").size());
      // Given up: 0 seconds, and the claims of the active backend.
      ok(bench, bench.retire(kIptablesMode, 0));
      CPPUNIT_ASSERT_EQUAL(std::string(), bench.servers_text() + bench.links_text() + bench.sets.text());
    }
  }

  void exports_bound_clients() {
    std::vector<ServiceSpec> specs = services();
    specs[1].affinity_seconds = 600;
    specs[1].source_ranges = {};
    IpvsBench bench;
    ok(bench, bench.full(specs));
    connect(bench, "172.30.0.2", "ASSURED", 500, 0);
    connect(bench, "1.2.3.4", "NONE", 900, 0);  // another frontend, bound for longer
    bench.connections.back().real.port = 8081;
    connect(bench, "172.30.0.2", "ESTABLISHED", 700);
    connect(bench, "172.30.0.1", "NONE", 500, 0);  // no longer with affinity
    CPPUNIT_ASSERT_EQUAL("bench/svc-1:p80 192.0.2.7 10.0.0.3:8081 600\n" + std::string(), bench.exported());
    bench.host.step = 5'000'000'000;  // time per line
    CPPUNIT_ASSERT_EQUAL("bench/svc-1:p80 192.0.2.7 10.0.0.3:8080 500\n" + std::string(), bench.exported());
    CPPUNIT_ASSERT(has(bench.logged(abi::Severity::kWarning), "not all connections of IPVS could be read"));
    bench.has_ipvs = false;
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.exported());
  }

  // From one ipvs backend to the next, before the next one has applied anything.
  void imported_clients_with_templates_stay_bound() {
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
    CPPUNIT_ASSERT(has(bench.error.message, "IPVS cannot import session affinity"));
    other.remaining_seconds = 3;  // may have expired
    ok(bench, import({client, other}));
    for (int what = 0; what < 3; ++what) {
      other = client;
      if (what == 0) other.endpoint = address("10.0.0.99");
      if (what == 1) ++other.endpoint_port;
      if (what == 2) other.key.protocol = abi::Protocol::kUdp;
      CPPUNIT_ASSERT(import({other}) == abi::Code::kUnsupported);
    }
    bench.connections[0].client_port = 40000;  // not a template
    CPPUNIT_ASSERT(import({client}) == abi::Code::kUnsupported);
    bench.connections[0].client_port = 0;
    bench.has_ipvs = false;
    CPPUNIT_ASSERT(import({client}) == abi::Code::kUnsupported);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsRetireTest);

}  // namespace backend_retire_test
}  // namespace sluice::test
