// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Session affinity that one backend exports and another imports.
#include <cppunit/extensions/HelperMacros.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/abi/affinity.hpp"
#include "test/unit/userspace/backend_rig.hpp"
#include "test/unit/userspace/servers.hpp"

namespace sluice::userspace {
namespace affinity_exchange_test {

using test::ask;
using test::ok;
using test::Server;
using test::ServiceSpec;

constexpr abi::Family kV4 = abi::Family::kIpv4;
constexpr Nanoseconds kSecond = 1'000'000'000;

abi::Address address(const std::string& text) { return *sdk::parse_address(text, kV4); }

struct Client {
  std::string service_port;
  std::string client;
  std::string endpoint;
  std::uint32_t seconds;
  bool operator==(const Client&) const = default;
};

class Sink final : public abi::AffinitySink {
 public:
  void add(abi::ArrayView batch) noexcept override {
    for (const abi::AffinityClient& client : sdk::range<abi::AffinityClient>(batch)) {
      clients.push_back({sdk::service_port_name(client.key), sdk::to_string(client.client, kV4),
                         sdk::host_port(client.endpoint, kV4, client.endpoint_port), client.remaining_seconds});
    }
  }
  std::vector<Client> clients;
};

class AffinityExchangeTest : public test::UserspaceFixture {
  CPPUNIT_TEST_SUITE(AffinityExchangeTest);
  CPPUNIT_TEST(clients_are_exported);
  CPPUNIT_TEST(clients_are_bound_before_the_first_packet);
  CPPUNIT_TEST(import_binds_unknown_clients_only);
  CPPUNIT_TEST(bindings_to_unknown_endpoints_are_ignored);
  CPPUNIT_TEST(import_keeps_the_order_of_use);
  CPPUNIT_TEST(a_full_table_keeps_the_most_recent_clients);
  CPPUNIT_TEST(a_binding_may_predate_the_clock);
  CPPUNIT_TEST_SUITE_END();

  std::vector<Client> exported() const {
    Sink sink;
    ok(rig().affinity().export_clients(&sink, &rig().error));
    return sink.clients;
  }
  void import(const ServiceSpec& spec, const std::string& client, std::uint16_t port, std::uint32_t seconds) const {
    test::World world(kV4);
    abi::AffinityClient given{};
    given.key = world.key(spec);
    given.client = address(client);
    given.endpoint = address("127.0.0.1");
    given.endpoint_port = port;
    given.remaining_seconds = seconds;
    ok(rig().affinity().import_clients(sdk::array(&given, 1), &rig().error));
  }
  static ServiceSpec sticky(std::vector<test::EndpointSpec> endpoints) {
    ServiceSpec spec = test::named("svc1", std::move(endpoints));
    spec.affinity_seconds = 3600;
    return spec;
  }

  void clients_are_exported() {
    const Server a('a', SOCK_STREAM);
    CPPUNIT_ASSERT(exported().empty());
    ServiceSpec other = test::named("svc2", {a.endpoint()});
    ok(rig().full({sticky({a.endpoint()}), other}));
    CPPUNIT_ASSERT(exported().empty());
    CPPUNIT_ASSERT_EQUAL('a', ask(rig().port("ns1/svc1"), SOCK_STREAM, &a));
    CPPUNIT_ASSERT_EQUAL('a', ask(rig().port("ns1/svc2"), SOCK_STREAM, &a));
    const std::vector<Client> clients = exported();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, clients.size());
    CPPUNIT_ASSERT((Client{"ns1/svc1:p80", "127.0.0.1", "127.0.0.1:" + std::to_string(a.port()), 3600} == clients[0]));
  }

  void clients_are_bound_before_the_first_packet() {
    const Server a('a', SOCK_STREAM);
    const Server b('b', SOCK_STREAM);
    for (const Server* server : {&a, &b}) {
      const ServiceSpec spec = sticky({a.endpoint(), b.endpoint()});
      import(spec, "127.0.0.1", server->port(), 100);
      ok(rig().full({spec}));
      const std::vector<Client> clients = exported();
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, clients.size());
      CPPUNIT_ASSERT(clients[0].seconds <= 100 && clients[0].seconds >= 95);
      const char letter = server == &a ? 'a' : 'b';
      for (int i = 0; i < 4; ++i) CPPUNIT_ASSERT_EQUAL(letter, ask(rig().port("ns1/svc1"), SOCK_STREAM, server));
      CPPUNIT_ASSERT_EQUAL(std::uint32_t{3600}, exported()[0].seconds);
      rig().stop();
    }
  }

  void import_binds_unknown_clients_only() {
    const Server a('a', SOCK_STREAM);
    const Server b('b', SOCK_STREAM);
    const ServiceSpec spec = sticky({a.endpoint(), b.endpoint()});
    import(spec, "127.0.0.1", a.port(), 100);
    ok(rig().full({spec}));
    import(spec, "127.0.0.1", b.port(), 3000);
    import(spec, "127.0.0.7", b.port(), 2000);
    std::map<std::string, std::string> bound;
    for (const Client& client : exported()) bound[client.client] = client.endpoint;
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, bound.size());
    CPPUNIT_ASSERT_EQUAL("127.0.0.1:" + std::to_string(a.port()), bound["127.0.0.1"]);
    CPPUNIT_ASSERT_EQUAL("127.0.0.1:" + std::to_string(b.port()), bound["127.0.0.7"]);
  }

  void bindings_to_unknown_endpoints_are_ignored() {
    const Server a('a', SOCK_STREAM);
    const ServiceSpec spec = sticky({a.endpoint()});
    ServiceSpec loose = test::named("svc2", {a.endpoint()});
    ServiceSpec unknown = test::named("svc3");
    ok(rig().full({spec, loose}));
    import(spec, "127.0.0.1", 1, 100);
    import(loose, "127.0.0.1", a.port(), 100);
    import(unknown, "127.0.0.1", a.port(), 100);
    CPPUNIT_ASSERT(exported().empty());
  }

  struct BalancerRig {
    explicit BalancerRig(std::size_t limit = 1000) : balancer(settings(limit), 1) {
      balancer.set_affinity(100);
      balancer.set_endpoints({&endpoint, 1});
    }
    static BalancerSettings settings(std::size_t limit) {
      BalancerSettings made;
      made.max_affinity_clients = limit;
      return made;
    }
    static Balancer::Binding binding(const std::string& client, std::int64_t seconds) {
      return {address(client), address("10.0.0.1"), 80, std::chrono::seconds(seconds)};
    }
    std::string order(Nanoseconds now) const {
      std::string text;
      for (const auto& one : balancer.bindings(now)) {
        text += sdk::to_string(one.client, kV4) + " " +
                std::to_string(std::chrono::duration_cast<std::chrono::seconds>(one.remaining).count()) + ", ";
      }
      return text;
    }
    const SocketAddress endpoint{kV4, address("10.0.0.1"), 80};
    Balancer balancer;
  };

  void import_keeps_the_order_of_use() {
    BalancerRig rig;
    CPPUNIT_ASSERT(rig.balancer.next(address("10.1.0.5"), 1000 * kSecond) != nullptr);
    rig.balancer.bind({rig.binding("10.1.0.3", 90), rig.binding("10.1.0.1", 10), rig.binding("10.1.0.9", 500),
                       rig.binding("10.1.0.5", 1), rig.binding("10.1.0.8", 0)},
                      1020 * kSecond);
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.0.1 10, 10.1.0.5 80, 10.1.0.3 90, 10.1.0.9 100, "),
                         rig.order(1020 * kSecond));
    rig.balancer.purge(1031 * kSecond);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig.balancer.affinity_clients());
    rig.balancer.purge(1105 * kSecond);
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.0.3 5, 10.1.0.9 15, "), rig.order(1105 * kSecond));
  }

  void a_full_table_keeps_the_most_recent_clients() {
    BalancerRig rig(3);
    CPPUNIT_ASSERT(rig.balancer.next(address("10.1.0.5"), 1000 * kSecond) != nullptr);
    rig.balancer.bind({rig.binding("10.1.0.3", 90), rig.binding("10.1.0.1", 10), rig.binding("10.1.0.2", 50)},
                      1000 * kSecond);
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.0.2 50, 10.1.0.3 90, 10.1.0.5 100, "), rig.order(1000 * kSecond));
  }

  // Shortly after boot: the last use lies before the start of the clock.
  void a_binding_may_predate_the_clock() {
    BalancerRig rig;
    rig.balancer.bind({rig.binding("10.1.0.1", 10), rig.binding("10.1.0.2", 98)}, 5 * kSecond);
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.0.1 10, 10.1.0.2 98, "), rig.order(5 * kSecond));
    rig.balancer.purge(16 * kSecond);
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.0.2 87, "), rig.order(16 * kSecond));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(AffinityExchangeTest);

}  // namespace affinity_exchange_test
}  // namespace sluice::userspace
