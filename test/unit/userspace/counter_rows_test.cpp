// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The traffic that the relay has counted.
#include <cppunit/extensions/HelperMacros.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "test/unit/common/inspection_examples.hpp"
#include "test/unit/userspace/backend_rig.hpp"
#include "test/unit/userspace/relay/tcp_fixture.hpp"
#include "test/unit/userspace/servers.hpp"

namespace sluice::userspace {
namespace counter_rows_test {

using test::EndpointSpec;
using test::Server;
using test::ServiceSpec;

class UserspaceCounterRowsTest : public test::UserspaceFixture, private test::InspectionExamples {
  CPPUNIT_TEST_SUITE(UserspaceCounterRowsTest);
  CPPUNIT_TEST(tcp_connections_and_bytes_are_counted);
  CPPUNIT_TEST(udp_flows_and_datagrams_are_counted);
  CPPUNIT_TEST(refused_clients_are_counted);
  CPPUNIT_TEST(both_lists_of_a_service_port_are_one);
  CPPUNIT_TEST(a_removed_endpoint_takes_its_counters_along);
  CPPUNIT_TEST(rows_of_one_service_are_listed);
  CPPUNIT_TEST(before_the_first_apply_the_call_asks_for_a_retry);
  CPPUNIT_TEST_SUITE_END();

  void full(const std::vector<ServiceSpec>& services) { test::ok(rig(), rig().full(services)); }
  // Relay threads count after they have passed data on.
  void expect(const std::vector<std::string>& rows) {
    CPPUNIT_ASSERT_MESSAGE(text(rig().counters()), rig::wait_until([&] { return rig().counters() == rows; }));
  }
  static std::string target(std::uint16_t port) { return " -> 127.0.0.1:" + std::to_string(port); }
  static EndpointSpec endpoint_of(const lib::Fd& socket) { return {"127.0.0.1", test::port_of(socket)}; }
  // Reads the bytes of a client at the endpoint and answers.
  static lib::Fd answer(const lib::Fd& endpoint, const std::string& question, const std::string& reply) {
    lib::Fd served = rig::accepted(endpoint);
    CPPUNIT_ASSERT_EQUAL(question, rig::read_exactly(served, question.size()));
    rig::write_all(served, reply);
    return served;
  }

  void tcp_connections_and_bytes_are_counted() {
    const lib::Fd upstream = rig::listening(abi::Family::kIpv4);
    full({test::named("svc1", {endpoint_of(upstream)})});
    const std::string to = target(test::port_of(upstream));
    const std::string name = "ns1/svc1:p80/tcp";
    expect({name + ": 0 connections, 0 active, 0 bytes, 0 reply bytes, 0 refused",
            name + to + ": 0 connections, 0 active, 0 bytes, 0 reply bytes"});
    lib::Fd client = rig::connected(rig::loopback(abi::Family::kIpv4, rig().port("ns1/svc1")));
    rig::write_all(client, "hello");
    lib::Fd served = answer(upstream, "hello", "hi!");
    CPPUNIT_ASSERT_EQUAL(std::string("hi!"), rig::read_exactly(client, 3));
    expect({name + ": 1 connections, 1 active, 5 bytes, 3 reply bytes, 0 refused",
            name + to + ": 1 connections, 1 active, 5 bytes, 3 reply bytes"});
    client.reset();
    served.reset();
    expect({name + ": 1 connections, 0 active, 5 bytes, 3 reply bytes, 0 refused",
            name + to + ": 1 connections, 0 active, 5 bytes, 3 reply bytes"});
  }

  void udp_flows_and_datagrams_are_counted() {
    const Server server('u', SOCK_DGRAM);
    ServiceSpec service = test::named("svc1", {server.endpoint()});
    service.protocol = abi::Protocol::kUdp;
    full({service});
    CPPUNIT_ASSERT_EQUAL('u', test::ask(rig().port("ns1/svc1"), SOCK_DGRAM, &server));
    server.send_again();
    const std::string counted = ": 1 connections, 1 active, 1 packets, 1 bytes, 2 reply packets, 2 reply bytes";
    expect({"ns1/svc1:p80/udp" + counted + ", 0 refused", "ns1/svc1:p80/udp" + target(server.port()) + counted});
    service.endpoints = {test::kRefusing};
    test::ok(rig(), rig().delta({service}));
    expect({"ns1/svc1:p80/udp: 1 connections, 0 active, 1 packets, 1 bytes, 2 reply packets, 2 reply bytes, 0 refused",
            "ns1/svc1:p80/udp" + target(9) +
                ": 0 connections, 0 active, 0 packets, 0 bytes, 0 reply packets, 0 reply bytes"});
  }

  void refused_clients_are_counted() {
    full({test::named("svc1")});
    CPPUNIT_ASSERT_EQUAL('-', test::ask(rig().port("ns1/svc1"), SOCK_STREAM, nullptr));
    expect({"ns1/svc1:p80/tcp: 0 connections, 0 active, 0 bytes, 0 reply bytes, 1 refused",
            "ns1/svc1:p80/tcp" + target(9) + ": 0 connections, 0 active, 0 bytes, 0 reply bytes"});
  }

  void both_lists_of_a_service_port_are_one() {
    const Server here('h', SOCK_STREAM);
    ServiceSpec service = test::named("svc1", {here.endpoint(true)});
    service.node_port = test::free_port(abi::Family::kIpv4);
    service.external_local = true;
    full({service});
    const auto ports = rig().ports("ns1/svc1");
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, ports.size());
    for (const std::uint16_t port : ports) CPPUNIT_ASSERT_EQUAL('h', test::ask(port, SOCK_STREAM, &here));
    const std::string counted = ": 2 connections, 0 active, 0 bytes, 2 reply bytes";
    expect({"ns1/svc1:p80/tcp" + counted + ", 0 refused", "ns1/svc1:p80/tcp" + target(here.port()) + counted});
  }

  void a_removed_endpoint_takes_its_counters_along() {
    const Server a('a', SOCK_STREAM);
    const Server b('b', SOCK_STREAM);
    full({test::named("svc1", {a.endpoint()})});
    CPPUNIT_ASSERT_EQUAL('a', test::ask(rig().port("ns1/svc1"), SOCK_STREAM, &a));
    test::ok(rig(), rig().delta({test::named("svc1", {b.endpoint()})}));
    expect({"ns1/svc1:p80/tcp: 1 connections, 0 active, 0 bytes, 1 reply bytes, 0 refused",
            "ns1/svc1:p80/tcp" + target(b.port()) + ": 0 connections, 0 active, 0 bytes, 0 reply bytes"});
  }

  void rows_of_one_service_are_listed() {
    full({test::named("svc1"), test::named("svc2")});
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, rig().counters().size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig().counters("ns1/svc2").size());
    CPPUNIT_ASSERT(rig().counters("ns1/svc").empty());
  }

  void before_the_first_apply_the_call_asks_for_a_retry() {
    CPPUNIT_ASSERT(rig().counters().empty());
    CPPUNIT_ASSERT(rig().inspected == abi::Code::kRetry);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(UserspaceCounterRowsTest);

}  // namespace counter_rows_test
}  // namespace sluice::userspace
