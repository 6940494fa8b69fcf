// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Slices and Services → what the reconciling of UDP flows is told (BEH 9.1).
#include "core/conntrack/feed.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/store/resolve.hpp"
#include "test/unit/store/fixtures.hpp"

namespace sluice::conntrack {
namespace feed_test {

using base::Family;
using base::IpAddress;

class ConntrackFeedTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ConntrackFeedTest);
  CPPUNIT_TEST(whoever_serves_counts_whatever_policies_and_hints_say);
  CPPUNIT_TEST(only_udp_is_told);
  CPPUNIT_TEST(node_port_addresses_are_told_when_they_change);
  CPPUNIT_TEST(relayed_ports_are_told_until_the_service_port_goes);
  CPPUNIT_TEST_SUITE_END();

  static std::vector<store::ServicePort> resolved(const model::Service& service, model::Protocol protocol) {
    store::SliceCache slices;
    auto slice = test::slice("slice1", {{"10.180.0.1", "N", "ready", {"a"}, {}},
                                        {"10.180.0.2", "other", "ready", {"b"}, {}},
                                        {"10.180.0.3", "other", "terminating", {}, {}},
                                        {"10.180.0.4", "other", "gone", {}, {}},
                                        {"10.180.0.5", "N", "unready", {}, {}}});
    slice.ports[0].protocol = protocol;
    slices.upsert(slice);
    return store::resolve(service, Family::ipv4, slices, {"N", "a"});
  }
  static model::Service dns(model::Protocol protocol = model::Protocol::udp) {
    auto service = test::service();
    service.ports[0].protocol = protocol;
    return service;
  }
  static snapshot::Transaction transaction(std::vector<store::ServicePort> ports, snapshot::NodeFacts facts = {}) {
    snapshot::Transaction out;
    out.node = std::make_shared<const snapshot::NodeFacts>(std::move(facts));
    for (auto& port : ports) out.service_ports.push_back(std::make_shared<const store::ServicePort>(std::move(port)));
    return out;
  }
  static std::string text(const std::vector<base::SocketAddress>& addresses) {
    std::string out;
    for (const auto& address : addresses) out += address.to_string() + " ";
    return out;
  }

 public:
  void whoever_serves_counts_whatever_policies_and_hints_say() {
    auto local = dns();
    local.internal_local = true;
    for (const auto& service : {dns(), local}) {
      const auto change = ConntrackFeed().update(transaction(resolved(service, model::Protocol::udp)));
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), change.ports.size());
      CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80 10.180.0.2:80 10.180.0.3:80 "),
                           text(change.ports[0].second->serving));
      CPPUNIT_ASSERT_EQUAL(std::string("172.30.0.41:80 "), text(change.ports[0].second->frontends));
    }
    // Backends are not told of the one that hints exclude.
    const auto ports = resolved(dns(), model::Protocol::udp);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), ports.at(0).also_serving.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), ports.at(0).endpoints.size());
  }

  void only_udp_is_told() {
    ConntrackFeed feed;
    const auto tcp = resolved(dns(model::Protocol::tcp), model::Protocol::tcp);
    CPPUNIT_ASSERT(tcp.at(0).also_serving.empty());
    auto t = transaction(tcp);
    CPPUNIT_ASSERT(feed.update(t).empty());
    t.removed.push_back(tcp[0].key);
    CPPUNIT_ASSERT(feed.update(t).empty());
    t.removed.push_back(resolved(dns(), model::Protocol::udp).at(0).key);
    const auto change = feed.update(t);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), change.ports.size());
    CPPUNIT_ASSERT(change.ports[0].second == nullptr);
    t.full = true;
    CPPUNIT_ASSERT(feed.update(t).full);
  }

  void node_port_addresses_are_told_when_they_change() {
    auto service = dns();
    service.type = model::ServiceType::node_port;
    service.ports[0].node_port = 30053;
    snapshot::NodeFacts facts;
    facts.local_addresses = {*IpAddress::parse("192.168.1.2"), *IpAddress::parse("192.168.0.2")};
    facts.node_ports_on_localhost = true;
    ConntrackFeed feed;
    auto t = transaction(resolved(service, model::Protocol::udp), facts);
    auto change = feed.update(t);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t(30053), change.ports.at(0).second->node_port);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), change.ports[0].second->frontends.size());
    const std::vector local{*IpAddress::parse("192.168.0.2"), *IpAddress::parse("192.168.1.2")};
    CPPUNIT_ASSERT((*change.node_ports == NodePortScope{local, true, local}));
    CPPUNIT_ASSERT(feed.update(t).node_ports == nullptr);
    facts.name = "other facts";
    CPPUNIT_ASSERT(feed.update(transaction({}, facts)).empty());
    facts.node_ports_match_all = false;
    facts.node_port_addresses = {*IpAddress::parse("192.168.0.2")};
    facts.node_ports_on_localhost = false;
    change = feed.update(transaction({}, facts));
    CPPUNIT_ASSERT((*change.node_ports == NodePortScope{{*IpAddress::parse("192.168.0.2")}, false, local}));
  }

  void relayed_ports_are_told_until_the_service_port_goes() {
    ConntrackFeed feed;
    auto t = transaction(resolved(dns(), model::Protocol::udp));
    const UdpPortKey key{t.service_ports[0]->key.service, t.service_ports[0]->key.port_name};
    const auto told = [&] {
      const auto change = feed.update(t);
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), change.ports.size());
      return change.ports[0].second ? change.ports[0].second->relays : std::vector<std::uint16_t>{1};
    };
    using Ports = std::vector<std::uint16_t>;
    CPPUNIT_ASSERT(told().empty());
    feed.relays(key, {40001, 40002});
    CPPUNIT_ASSERT((told() == Ports{40001, 40002}));
    CPPUNIT_ASSERT((told() == Ports{40001, 40002}));
    feed.relays({key.service, base::Symbol("another")}, {40003});
    CPPUNIT_ASSERT((told() == Ports{40001, 40002}));
    feed.relays(key, {40001});
    CPPUNIT_ASSERT((told() == Ports{40001}));
    feed.relays(key, {});
    CPPUNIT_ASSERT(told().empty());

    // Removed, it is forgotten, and so is what a full transaction does not name.
    feed.relays(key, {40001});
    auto removal = transaction({});
    removal.removed.push_back(t.service_ports[0]->key);
    feed.update(removal);
    CPPUNIT_ASSERT(told().empty());
    feed.relays(key, {40001});
    auto nothing = transaction({});
    nothing.full = true;
    feed.update(nothing);
    CPPUNIT_ASSERT(told().empty());
    feed.relays(key, {40001});
    t.full = true;
    CPPUNIT_ASSERT((told() == Ports{40001}));
    CPPUNIT_ASSERT((told() == Ports{40001}));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ConntrackFeedTest);

}  // namespace feed_test
}  // namespace sluice::conntrack
