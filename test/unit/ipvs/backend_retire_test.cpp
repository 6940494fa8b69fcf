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

  static bool retrying(IpvsRig& rig, const std::vector<std::string>& claims = {}, std::uint32_t seconds = 30) {
    const abi::Code code = rig.retire(claims, seconds);
    if (code != abi::Code::kRetry) ok(rig, code);
    return code == abi::Code::kRetry;
  }
  static ipvs::FakeServerKernel::Real& first_real(IpvsRig& rig, const std::string& service_ip) {
    return rig.servers.held.at(rig.key(service_ip, 80)).real.begin()->second;
  }
  static void connect(IpvsRig& rig, const std::string& service_ip, const std::string& state, std::uint32_t expires,
                      std::uint16_t client_port = 40000, std::uint16_t port = 80) {
    auto& server = rig.servers.held.at(rig.key(service_ip, port));
    ipvs::ServerConnection one;
    one.server = server.attributes.key;
    one.client = address("192.0.2.7");
    one.client_port = client_port;
    one.real = server.real.begin()->first;
    one.state = state;
    one.expires = expires;
    rig.connections.push_back(one);
    if (!one.is_template()) ++server.real.begin()->second.connections;
  }
  static void is_all_gone(IpvsRig& rig) {
    CPPUNIT_ASSERT_EQUAL(std::string(kForeign), rig.servers_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.sets.text());
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.links_text());
    CPPUNIT_ASSERT_MESSAGE(rig.rules.text(), !has(rig.rules.text(), "KUBE-"));
  }

  void keeps_claims_of_the_new_backend() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    ok(rig, rig.retire(kIptablesMode));
    CPPUNIT_ASSERT(rig.rules.has("nat", "KUBE-SERVICES") && !rig.rules.has("nat", "KUBE-NODE-PORT"));
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.servers_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.links_text());
  }

  void another_instance_adopts_everything() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    connect(rig, "172.30.0.1", "ESTABLISHED", 800);
    // The new backend works in another thread.
    rig.sets.create("KUBE-CLUSTER-IP-N", ipvs::SetType::kIpPort, 65536);
    const std::string whole = rig.kernel_text();
    const std::uint64_t messages = rig.messages();
    for (const std::uint32_t seconds : {30u, 0u}) {
      rig.rules.restores.clear();
      ok(rig, rig.retire(rig.claims(), seconds));
      CPPUNIT_ASSERT_EQUAL(whole, rig.kernel_text());
      CPPUNIT_ASSERT(rig.rules.restores.empty() && rig.messages() == messages);
    }
    // The state is adopted; another scheduler is edited in place.
    rig.restart_with({{"ipvs.scheduler", "lc"}});
    ok(rig, rig.full(services()));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, first_real(rig, "172.30.0.1").connections);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.servers.cut);
    CPPUNIT_ASSERT(has(rig.servers_text(), "172.30.0.1:80/TCP lc "));
  }

  void drains_step_by_step() {
    for (const bool iptables : {false, true}) {
      const std::vector<std::string> claims = iptables ? kIptablesMode : std::vector<std::string>{"nft/ip/kube-proxy"};
      IpvsRig rig;
      put_server(rig, rig.key("203.0.113.9", 80));
      ok(rig, rig.full(services()));
      connect(rig, "172.30.0.1", "ESTABLISHED", 800);
      CPPUNIT_ASSERT(retrying(rig, claims));
      CPPUNIT_ASSERT_EQUAL(std::string("draining: connections to 1 virtual servers"), std::string(rig.error.message));
      const std::string now = rig.servers_text();
      CPPUNIT_ASSERT_MESSAGE(now, has(now, "172.30.0.1:80/TCP rr 10.0.0.1:8080*0 10.0.0.2:8080*0\n"));
      CPPUNIT_ASSERT_MESSAGE(now, has(now, kForeign) && rig.servers.held.size() == 2);
      CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 172.30.0.1\n"), rig.links_text());
      // New connections go elsewhere; the remaining rules are for established ones.
      CPPUNIT_ASSERT_EQUAL(std::size_t{iptables ? 1u : 0u}, rig.rules.rules("nat", "PREROUTING").size());
      for (const char* chain : {"KUBE-IPVS-FILTER", "KUBE-PROXY-FIREWALL", "KUBE-FORWARD"}) {
        CPPUNIT_ASSERT_MESSAGE(chain, rig.rules.has("filter", chain));
      }
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.rules.rules("nat", "KUBE-IPVS-HANDOVER").size());
      const std::uint64_t messages = rig.messages();
      CPPUNIT_ASSERT(retrying(rig, claims, 29));
      CPPUNIT_ASSERT_EQUAL(messages, rig.messages());  // no change, no write
      first_real(rig, "172.30.0.1").connections = 0;
      CPPUNIT_ASSERT(!retrying(rig, claims, 28));
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.servers.cut);
      if (iptables) {
        CPPUNIT_ASSERT_EQUAL(std::string(kForeign), rig.servers_text());
        CPPUNIT_ASSERT(rig.rules.has("nat", "KUBE-SERVICES") && !rig.rules.has("nat", "KUBE-IPVS-HANDOVER"));
        CPPUNIT_ASSERT_EQUAL(std::string(), rig.sets.text());
      } else {
        is_all_gone(rig);
      }
    }
  }

  void jumps_are_removed_before_everything_else() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    connect(rig, "172.30.0.1", "ESTABLISHED", 800);
    bool checked = false;
    rig.servers.meddle = [&](const ipvs::ServerCommand& command) {
      CPPUNIT_ASSERT(rig.rules.rules("nat", "PREROUTING").empty() && rig.rules.rules("nat", "OUTPUT").empty());
      // Without connections, the weight is lowered before the server is removed.
      if (command.kind == ipvs::ServerCommandKind::kDeleteServer) {
        CPPUNIT_ASSERT(!has(rig.links_text(), sdk::to_string(command.server.key.address, kFamily) + " "));
      }
      checked = true;
    };
    CPPUNIT_ASSERT(retrying(rig));
    CPPUNIT_ASSERT(checked);
  }

  void ended_connections_do_not_delay_retirement() {
    IpvsRig rig;
    put_server(rig, rig.key("203.0.113.9", 80));
    ok(rig, rig.full(services()));
    connect(rig, "172.30.0.1", "TIME_WAIT", 100);
    connect(rig, "172.30.0.1", "FIN_WAIT", 100, 40001);  // half-closed: data may still flow
    CPPUNIT_ASSERT(retrying(rig));
    rig.connections.pop_back();
    CPPUNIT_ASSERT(retrying(rig));  // hidden by the listing, but counted
    --first_real(rig, "172.30.0.1").connections;
    rig.connections_readable = false;  // their states are unknown
    CPPUNIT_ASSERT(retrying(rig));
    rig.connections_readable = true;
    CPPUNIT_ASSERT(!retrying(rig));
    is_all_gone(rig);
    CPPUNIT_ASSERT_MESSAGE(rig.logged(abi::Severity::kInfo),
                           !has(rig.logged(abi::Severity::kInfo), "drain timeout expired"));
  }

  void persistence_templates_do_not_delay_retirement() {
    IpvsRig rig;
    put_server(rig, rig.key("203.0.113.9", 80));
    ok(rig, rig.full(services()));
    connect(rig, "172.30.0.1", "ASSURED", 10'000, 0);
    connect(rig, "172.30.0.1", "TIME_WAIT", 100);  // so that single connections are listed
    CPPUNIT_ASSERT(!retrying(rig));
    is_all_gone(rig);
  }

  void an_address_goes_with_its_last_virtual_server() {
    std::vector<ServiceSpec> specs = services();
    specs[1].vips = {};
    ServiceSpec same = specs[0];  // another port of the same Service
    same.name += "-b";
    same.port = 81;
    same.node_port = 0;
    specs.push_back(same);
    IpvsRig rig;
    ok(rig, rig.full(specs));
    connect(rig, "172.30.0.1", "ESTABLISHED", 800);
    CPPUNIT_ASSERT(rig.servers.held.contains(rig.key("172.30.0.1", 81)));
    CPPUNIT_ASSERT(retrying(rig));
    CPPUNIT_ASSERT(!rig.servers.held.contains(rig.key("172.30.0.1", 81)));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 172.30.0.1\n"), rig.links_text());
  }

  // A local process whose connection goes through the new backend: without its address it would receive no packets.
  void a_source_address_of_a_local_connection_stays() {
    IpvsRig rig;
    put_server(rig, rig.key("203.0.113.9", 80));
    ok(rig, rig.full(services()));
    rig.connected = {address("172.30.0.2"), address("192.168.0.2")};
    CPPUNIT_ASSERT(retrying(rig));
    CPPUNIT_ASSERT_EQUAL(std::string("draining: connections of this node from 1 service addresses"),
                         std::string(rig.error.message));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 172.30.0.2\n"), rig.links_text());
    CPPUNIT_ASSERT_EQUAL(std::string(kForeign), rig.servers_text());
    rig.connected = {address("192.168.0.2")};
    CPPUNIT_ASSERT(!retrying(rig));
    is_all_gone(rig);
  }

  // From the first step on, new connections do not use a service address as their source.
  void local_connections_get_the_usual_source() {
    const auto first_step = [](IpvsRig& rig) {
      ok(rig, rig.full(services()));
      rig.links.put("eth0", "veth").addresses[kFamily] = {address("192.168.0.2")};
      connect(rig, "172.30.0.1", "ESTABLISHED", 800);
      CPPUNIT_ASSERT(retrying(rig));
      CPPUNIT_ASSERT(retrying(rig));
    };
    IpvsRig rig;
    rig.usual_source = address("192.168.0.2");
    first_step(rig);
    CPPUNIT_ASSERT_EQUAL(1, rig.links.calls["set_source"]);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.links.sources.size());  // the others are removed
    CPPUNIT_ASSERT(rig.links.sources.at(address("172.30.0.1")) == address("192.168.0.2"));
    // No route to other hosts, and a source that is not an address of the node.
    for (const auto& source : {std::optional<abi::Address>(), std::optional(address("172.30.0.1"))}) {
      IpvsRig other;
      other.usual_source = source;
      first_step(other);
      CPPUNIT_ASSERT_EQUAL(0, other.links.calls["set_source"]);
    }
    IpvsRig refusing;
    refusing.usual_source = address("192.168.0.2");
    refusing.links.before = [](const std::string& call) {
      if (call == "set_source") throw sdk::Failure(abi::Code::kKernel, "172.30.0.1", "cannot do it");
    };
    first_step(refusing);
    CPPUNIT_ASSERT(has(refusing.logged(abi::Severity::kWarning), "end with the drain"));
  }

  void serving_again_restores_the_source() {
    for (const bool other_process : {false, true}) {
      IpvsRig rig;
      rig.usual_source = address("192.168.0.2");
      rig.links.put("eth0", "veth").addresses[kFamily] = {address("192.168.0.2")};
      ok(rig, rig.full(services()));
      CPPUNIT_ASSERT_EQUAL(0, rig.links.calls["restore_source"]);  // a node without leftover state
      connect(rig, "172.30.0.1", "ESTABLISHED", 800);
      CPPUNIT_ASSERT(retrying(rig));
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.links.sources.size());  // removed addresses have none
      if (other_process) rig.restart();
      ok(rig, rig.full(services()));
      CPPUNIT_ASSERT(rig.links.sources.empty());
      ok(rig, rig.full(services()));
      CPPUNIT_ASSERT_EQUAL(1, rig.links.calls["restore_source"]);
    }
  }

  void flows_of_the_new_backend_are_kept() {
    const auto tracking = std::make_shared<Tracking>();
    IpvsRig rig;
    put_server(rig, rig.key("203.0.113.9", 80));
    rig.tracking = [tracking] { return std::make_unique<TrackingSocket>(tracking); };
    rig.restart();
    ok(rig, rig.full(services()));
    CPPUNIT_ASSERT_EQUAL(0, tracking->listening);
    bool before = false;
    rig.servers.meddle = [&](const ipvs::ServerCommand&) { before = tracking->listening == 1; };
    connect(rig, "172.30.0.1", "ESTABLISHED", 800);
    CPPUNIT_ASSERT(retrying(rig));
    CPPUNIT_ASSERT(before);
    CPPUNIT_ASSERT(retrying(rig));
    CPPUNIT_ASSERT_EQUAL(1, tracking->listening);
    // It serves again, and is retired for good later.
    ok(rig, rig.full(services()));
    CPPUNIT_ASSERT_EQUAL(0, tracking->listening);
    CPPUNIT_ASSERT(retrying(rig));
    CPPUNIT_ASSERT_EQUAL(1, tracking->listening);
    rig.connections.clear();
    first_real(rig, "172.30.0.1").connections = 0;
    CPPUNIT_ASSERT(!retrying(rig));
    CPPUNIT_ASSERT_EQUAL(0, tracking->listening);
    is_all_gone(rig);
    // A clean-up has no new backend.
    rig.restart();
    ok(rig, rig.full(services()));
    ok(rig, rig.cleanup());
    CPPUNIT_ASSERT_EQUAL(0, tracking->listening);
  }

  void drain_timeout_removes_everything() {
    IpvsRig rig;
    put_server(rig, rig.key("203.0.113.9", 80));
    ok(rig, rig.full(services()));
    connect(rig, "172.30.0.1", "ESTABLISHED", 800);
    rig.connected = {address("172.30.0.2")};
    CPPUNIT_ASSERT(retrying(rig));
    ok(rig, rig.retire({}, 0));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, rig.servers.cut);
    is_all_gone(rig);
    CPPUNIT_ASSERT(
        has(rig.logged(abi::Severity::kInfo),
            "drain timeout expired, ending connections to 1 virtual servers and connections of this node from 1 "
            "service addresses"));
  }

  void a_process_that_has_applied_nothing_drains() {
    IpvsRig rig;
    put_server(rig, rig.key("203.0.113.9", 80));
    ok(rig, rig.full(services()));
    connect(rig, "172.30.0.1", "ESTABLISHED", 800);
    connect(rig, "192.168.0.2", "ESTABLISHED", 800, 40000, 30001);  // the node port
    rig.restart();
    CPPUNIT_ASSERT(retrying(rig));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig.servers.held.size());
    CPPUNIT_ASSERT_EQUAL(0, first_real(rig, "172.30.0.1").weight);
    rig.restart();  // a restart in between
    CPPUNIT_ASSERT(retrying(rig));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig.servers.held.size());
    rig.servers.held.at(rig.key("172.30.0.1", 80)).real.begin()->second.connections = 0;
    rig.restart();
    CPPUNIT_ASSERT(retrying(rig));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy\n"), rig.links_text());
    rig.servers.held.at(rig.key("192.168.0.2", 30001)).real.begin()->second.connections = 0;
    rig.restart();
    CPPUNIT_ASSERT(!retrying(rig));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.servers.cut);
    is_all_gone(rig);
    // A second call has nothing to do.
    rig.restart();
    CPPUNIT_ASSERT(!retrying(rig));
    is_all_gone(rig);
  }

  void a_failed_step_is_repeated() {
    for (long left = 0;; ++left) {
      IpvsRig rig;
      put_server(rig, rig.key("203.0.113.9", 80));
      ok(rig, rig.full(services()));
      connect(rig, "172.30.0.1", "ESTABLISHED", 800);
      rig.servers.dumps_left = left;
      const abi::Code code = rig.retire({}, 30);
      CPPUNIT_ASSERT(code == abi::Code::kRetry);
      const bool failed = has(rig.error.message, "the exchange with IPVS failed");
      rig.servers.dumps_left = -1;
      CPPUNIT_ASSERT(retrying(rig));
      CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.servers.held.size());
      first_real(rig, "172.30.0.1").connections = 0;
      CPPUNIT_ASSERT(!retrying(rig));
      is_all_gone(rig);
      if (!failed) break;
      CPPUNIT_ASSERT(left < 100);
    }
  }

  void an_apply_restores_the_weights() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    const std::string whole = rig.kernel_text();
    connect(rig, "172.30.0.1", "ESTABLISHED", 800);
    CPPUNIT_ASSERT(retrying(rig));
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    for (const bool other_process : {false, true}) {
      if (other_process) rig.restart();
      ok(rig, rig.full(services()));
      CPPUNIT_ASSERT_EQUAL(whole, rig.kernel_text());
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, first_real(rig, "172.30.0.1").connections);
      ok(rig, rig.verify());
      CPPUNIT_ASSERT(retrying(rig));  // a second time
      CPPUNIT_ASSERT_EQUAL(0, first_real(rig, "172.30.0.1").weight);
    }
  }

  void a_new_backend_receives_no_packets_before_it_is_ready() {
    for (const bool old_backend : {false, true}) {
      IpvsRig rig;
      rig.restart(old_backend ? std::uint32_t{abi::kCreatePredecessorServes} : 0);
      bool bound = false;
      rig.links.before = [&](const std::string& call) {
        if (call != "bind") return;
        bound = true;
        CPPUNIT_ASSERT(rig.rules.has("nat", "KUBE-IPVS-HANDOVER") && rig.rules.has("filter", "KUBE-IPVS-FILTER"));
        CPPUNIT_ASSERT_EQUAL(!old_backend, rig.rules.has("nat", "KUBE-SERVICES"));
        CPPUNIT_ASSERT_EQUAL(std::size_t{5}, rig.servers.held.size());
      };
      ok(rig, rig.full(services()));
      CPPUNIT_ASSERT(bound && rig.rules.has("nat", "KUBE-SERVICES"));
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.rules.rules("nat", "PREROUTING").size());
      // Given up: 0 seconds, and the claims of the active backend.
      ok(rig, rig.retire(kIptablesMode, 0));
      CPPUNIT_ASSERT_EQUAL(std::string(), rig.servers_text() + rig.links_text() + rig.sets.text());
    }
  }

  void exports_bound_clients() {
    std::vector<ServiceSpec> specs = services();
    specs[1].affinity_seconds = 600;
    specs[1].source_ranges = {};
    IpvsRig rig;
    ok(rig, rig.full(specs));
    connect(rig, "172.30.0.2", "ASSURED", 500, 0);
    connect(rig, "1.2.3.4", "NONE", 900, 0);  // another frontend, bound for longer
    rig.connections.back().real.port = 8081;
    connect(rig, "172.30.0.2", "ESTABLISHED", 700);
    connect(rig, "172.30.0.1", "NONE", 500, 0);  // no longer with affinity
    CPPUNIT_ASSERT_EQUAL("bench/svc-1:p80 192.0.2.7 10.0.0.3:8081 600\n" + std::string(), rig.exported());
    rig.host.step = 5'000'000'000;  // time per line
    CPPUNIT_ASSERT_EQUAL("bench/svc-1:p80 192.0.2.7 10.0.0.3:8080 500\n" + std::string(), rig.exported());
    CPPUNIT_ASSERT(has(rig.logged(abi::Severity::kWarning), "not all connections of IPVS could be read"));
    rig.has_ipvs = false;
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.exported());
  }

  // From one ipvs backend to the next, before the next one has applied anything.
  void imported_clients_with_templates_stay_bound() {
    std::vector<ServiceSpec> specs = services();
    specs[1].affinity_seconds = 600;
    specs[1].source_ranges = {};
    IpvsRig rig;
    ok(rig, rig.full(specs));
    connect(rig, "172.30.0.2", "ASSURED", 500, 0);
    rig.restart();
    abi::AffinityClient client{};
    client.key.protocol = abi::Protocol::kTcp;
    client.client = rig.connections[0].client;
    client.endpoint = rig.connections[0].real.address;
    client.endpoint_port = rig.connections[0].real.port;
    client.remaining_seconds = 500;
    const auto import = [&](std::vector<abi::AffinityClient> clients) {
      return rig.affinity().import_clients(sdk::array(clients.data(), clients.size()), &rig.error);
    };
    ok(rig, import({}));
    ok(rig, import({client, client}));
    abi::AffinityClient other = client;
    other.client = address("192.0.2.8");
    CPPUNIT_ASSERT(import({client, other}) == abi::Code::kUnsupported);
    CPPUNIT_ASSERT(has(rig.error.message, "IPVS cannot import session affinity"));
    other.remaining_seconds = 3;  // may have expired
    ok(rig, import({client, other}));
    for (int what = 0; what < 3; ++what) {
      other = client;
      if (what == 0) other.endpoint = address("10.0.0.99");
      if (what == 1) ++other.endpoint_port;
      if (what == 2) other.key.protocol = abi::Protocol::kUdp;
      CPPUNIT_ASSERT(import({other}) == abi::Code::kUnsupported);
    }
    rig.connections[0].client_port = 40000;  // not a template
    CPPUNIT_ASSERT(import({client}) == abi::Code::kUnsupported);
    rig.connections[0].client_port = 0;
    rig.has_ipvs = false;
    CPPUNIT_ASSERT(import({client}) == abi::Code::kUnsupported);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsRetireTest);

}  // namespace backend_retire_test
}  // namespace sluice::test
