// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Converts EndpointSlices and Services to UDP changes (BEH 9.1).
#include "core/conntrack/udp_change_builder.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/store/resolve.hpp"
#include "test/unit/store/fixtures.hpp"

namespace sluice::conntrack {
namespace udp_change_builder_test {

using lib::Family;
using lib::IpAddress;

class UdpChangeBuilderTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(UdpChangeBuilderTest);
  CPPUNIT_TEST(all_serving_endpoints_count_regardless_of_policies_and_hints);
  CPPUNIT_TEST(contains_only_udp);
  CPPUNIT_TEST(contains_node_port_addresses_when_they_change);
  CPPUNIT_TEST(keeps_relay_ports_until_the_service_port_is_removed);
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
  static std::string text(const std::vector<lib::SocketAddress>& addresses) {
    std::string out;
    for (const auto& address : addresses) out += address.to_string() + " ";
    return out;
  }

 public:
  void all_serving_endpoints_count_regardless_of_policies_and_hints() {
    auto local = dns();
    local.internal_local = true;
    for (const auto& service : {dns(), local}) {
      const auto change = UdpChangeBuilder().update(transaction(resolved(service, model::Protocol::udp)));
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), change.ports.size());
      CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80 10.180.0.2:80 10.180.0.3:80 "),
                           text(change.ports[0].second->serving));
      CPPUNIT_ASSERT_EQUAL(std::string("172.30.0.41:80 "), text(change.ports[0].second->frontends));
    }
    // Backends do not receive the endpoint that hints exclude.
    const auto ports = resolved(dns(), model::Protocol::udp);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), ports.at(0).also_serving.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), ports.at(0).endpoints.size());
  }

  void contains_only_udp() {
    UdpChangeBuilder builder;
    const auto tcp = resolved(dns(model::Protocol::tcp), model::Protocol::tcp);
    CPPUNIT_ASSERT(tcp.at(0).also_serving.empty());
    auto t = transaction(tcp);
    CPPUNIT_ASSERT(builder.update(t).empty());
    t.removed.push_back(tcp[0].key);
    CPPUNIT_ASSERT(builder.update(t).empty());
    t.removed.push_back(resolved(dns(), model::Protocol::udp).at(0).key);
    const auto change = builder.update(t);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), change.ports.size());
    CPPUNIT_ASSERT(change.ports[0].second == nullptr);
    t.full = true;
    CPPUNIT_ASSERT(builder.update(t).full);
  }

  void contains_node_port_addresses_when_they_change() {
    auto service = dns();
    service.type = model::ServiceType::node_port;
    service.ports[0].node_port = 30053;
    snapshot::NodeFacts facts;
    facts.local_addresses = {*IpAddress::parse("192.168.1.2"), *IpAddress::parse("192.168.0.2")};
    facts.node_ports_on_localhost = true;
    UdpChangeBuilder builder;
    auto t = transaction(resolved(service, model::Protocol::udp), facts);
    auto change = builder.update(t);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t(30053), change.ports.at(0).second->node_port);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), change.ports[0].second->frontends.size());
    const std::vector local{*IpAddress::parse("192.168.0.2"), *IpAddress::parse("192.168.1.2")};
    CPPUNIT_ASSERT((*change.node_ports == NodePortScope{local, true, local}));
    CPPUNIT_ASSERT(builder.update(t).node_ports == nullptr);
    facts.name = "other facts";
    CPPUNIT_ASSERT(builder.update(transaction({}, facts)).empty());
    facts.node_ports_match_all = false;
    facts.node_port_addresses = {*IpAddress::parse("192.168.0.2")};
    facts.node_ports_on_localhost = false;
    change = builder.update(transaction({}, facts));
    CPPUNIT_ASSERT((*change.node_ports == NodePortScope{{*IpAddress::parse("192.168.0.2")}, false, local}));
  }

  void keeps_relay_ports_until_the_service_port_is_removed() {
    UdpChangeBuilder builder;
    auto t = transaction(resolved(dns(), model::Protocol::udp));
    const UdpPortKey key{t.service_ports[0]->key.service, t.service_ports[0]->key.port_name};
    const auto built_relays = [&] {
      const auto change = builder.update(t);
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), change.ports.size());
      return change.ports[0].second ? change.ports[0].second->relays : std::vector<std::uint16_t>{1};
    };
    using Ports = std::vector<std::uint16_t>;
    CPPUNIT_ASSERT(built_relays().empty());
    builder.relays(key, {40001, 40002});
    CPPUNIT_ASSERT((built_relays() == Ports{40001, 40002}));
    CPPUNIT_ASSERT((built_relays() == Ports{40001, 40002}));
    builder.relays({key.service, base::Symbol("another")}, {40003});
    CPPUNIT_ASSERT((built_relays() == Ports{40001, 40002}));
    builder.relays(key, {40001});
    CPPUNIT_ASSERT((built_relays() == Ports{40001}));
    builder.relays(key, {});
    CPPUNIT_ASSERT(built_relays().empty());

    // A removal drops the relay ports, and so does a full transaction without the service port.
    builder.relays(key, {40001});
    auto removal = transaction({});
    removal.removed.push_back(t.service_ports[0]->key);
    builder.update(removal);
    CPPUNIT_ASSERT(built_relays().empty());
    builder.relays(key, {40001});
    auto nothing = transaction({});
    nothing.full = true;
    builder.update(nothing);
    CPPUNIT_ASSERT(built_relays().empty());
    builder.relays(key, {40001});
    t.full = true;
    CPPUNIT_ASSERT((built_relays() == Ports{40001}));
    CPPUNIT_ASSERT((built_relays() == Ports{40001}));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(UdpChangeBuilderTest);

}  // namespace udp_change_builder_test
}  // namespace sluice::conntrack
