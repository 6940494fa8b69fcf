// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The counters of IPVS as rows.
#include "plugins/ipvs/counter_rows.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "test/unit/common/inspection_examples.hpp"
#include "test/unit/ipvs/backend_fixture.hpp"
#include "test/unit/ipvs/inspection_rows.hpp"

namespace sluice::test {
namespace counter_rows_test {

std::string printed_counters(const abi::InspectedCounters& row) {
  const auto has = [&](std::uint32_t flag) { return (row.flags & flag) != 0; };
  const auto place = [](const abi::Address& address, std::uint16_t port) {
    return " " + sdk::host_port(address, abi::Family::kIpv4, port);
  };
  std::string line = sdk::service_port_name(row.key) + "/" + std::string(sdk::protocol_name(row.key.protocol));
  if (has(abi::kCountedNodePort)) line += " :" + std::to_string(row.port);
  if (has(abi::kCountedFrontend) && !has(abi::kCountedNodePort)) line += place(row.address, row.port);
  if (has(abi::kCountedTarget)) line += " to" + place(row.target, row.target_port);
  if (has(abi::kKnownConnections)) line += " connections " + std::to_string(row.connections);
  if (has(abi::kKnownPackets | abi::kKnownBytes)) {
    line += " in " + std::to_string(row.packets) + "/" + std::to_string(row.bytes);
  }
  if (has(abi::kKnownReplyPackets | abi::kKnownReplyBytes)) {
    line += " out " + std::to_string(row.reply_packets) + "/" + std::to_string(row.reply_bytes);
  }
  if (has(abi::kKnownActive)) line += " active " + std::to_string(row.active_connections);
  return has(abi::kKnownRefused) ? line + " refused" : line;
}

class IpvsCounterRowsTest : public IpvsFixture, private InspectionExamples {
  CPPUNIT_TEST_SUITE(IpvsCounterRowsTest);
  CPPUNIT_TEST(frontends_and_endpoints_are_counted);
  CPPUNIT_TEST(flows_of_udp_have_no_active_connections);
  CPPUNIT_TEST(unknown_counters_are_not_reported);
  CPPUNIT_TEST(one_service_is_counted);
  CPPUNIT_TEST(virtual_servers_of_no_service_are_not_counted);
  CPPUNIT_TEST(before_the_first_apply_the_call_returns_retry);
  CPPUNIT_TEST_SUITE_END();

  static std::vector<std::string> rows(IpvsRig& rig, const std::string& name = {}) {
    return inspected_rows<abi::InspectedCounters>(rig, abi::InspectionKind::kInspectCounters, name, printed_counters);
  }
  static void expect(IpvsRig& rig, const std::vector<std::string>& lines, const std::string& name = {}) {
    const std::vector<std::string> found = rows(rig, name);
    CPPUNIT_ASSERT_EQUAL_MESSAGE(rig.error.message, text(lines), text(found));
  }
  static ipvs::IpvsCounters traffic(std::uint64_t unit) {
    return {true, unit, 10 * unit, 1000 * unit, 20 * unit, 2000 * unit};
  }
  static void set(IpvsRig& rig, const ipvs::ServerKey& key, std::uint64_t first, std::uint64_t second) {
    auto& server = rig.servers.held.at(key);
    server.counters = traffic(first + second);
    std::uint64_t unit = first;
    for (auto& [real, state] : server.real) {
      state.counters = traffic(unit);
      state.active = unit;
      unit = second;
    }
  }

  void frontends_and_endpoints_are_counted() {
    IpvsRig rig;
    rig.node.local_addresses = {"127.0.0.1", "192.168.0.2", "192.168.0.3"};
    ServiceSpec service = example();
    service.external_ips = {"192.0.2.10"};
    service.node_port = 30001;
    ok(rig, rig.full({service}));
    set(rig, rig.key("172.30.0.41", 80), 1, 2);
    set(rig, rig.key("192.0.2.10", 80), 10, 20);
    set(rig, rig.key("192.168.0.2", 30001), 100, 200);
    set(rig, rig.key("192.168.0.3", 30001), 1000, 2000);
    const std::string port = "ns1/svc1:p80/tcp ";
    expect(rig,
           {port + "connections 3333 in 33330/3333000 out 66660/6666000 active 3333",
            port + "172.30.0.41:80 connections 3 in 30/3000 out 60/6000 active 3",
            port + "192.0.2.10:80 connections 30 in 300/30000 out 600/60000 active 30",
            port + ":30001 connections 3300 in 33000/3300000 out 66000/6600000 active 3300",
            port + "to 10.180.0.1:80 connections 1111 in 11110/1111000 out 22220/2222000 active 1111",
            port + "to 10.180.2.1:80 connections 2222 in 22220/2222000 out 44440/4444000 active 2222"});
  }

  void flows_of_udp_have_no_active_connections() {
    IpvsRig rig;
    ServiceSpec service = example();
    service.protocol = abi::Protocol::kUdp;
    service.endpoints.pop_back();
    ok(rig, rig.full({service}));
    set(rig, rig.key("172.30.0.41", 80, abi::Protocol::kUdp), 1, 0);
    const std::string counted = " connections 1 in 10/1000 out 20/2000";
    expect(rig, {"ns1/svc1:p80/udp" + counted, "ns1/svc1:p80/udp 172.30.0.41:80" + counted,
                 "ns1/svc1:p80/udp to 10.180.2.1:80" + counted});
  }

  void unknown_counters_are_not_reported() {
    IpvsRig rig;
    ok(rig, rig.full({example()}));
    set(rig, rig.key("172.30.0.41", 80), 1, 2);
    rig.servers.held.at(rig.key("172.30.0.41", 80)).real.at({address("10.180.0.1"), 80}).counters = {};
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc1:p80/tcp to 10.180.0.1:80 active 1"), rows(rig).at(2));
    rig.servers.held.at(rig.key("172.30.0.41", 80)).counters = {};
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc1:p80/tcp active 3"), rows(rig).front());
  }

  void one_service_is_counted() {
    IpvsRig rig;
    ok(rig, rig.full({example(1), example(2)}));
    const std::uint64_t dumps = rig.servers.real_dumps;
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, rows(rig, "ns1/svc2").size());
    CPPUNIT_ASSERT_EQUAL(dumps + 1, rig.servers.real_dumps);
    CPPUNIT_ASSERT(rows(rig, "ns1/svc").empty());
    ok(rig, rig.inspected);
    const std::uint64_t messages = rig.messages();
    rows(rig);
    CPPUNIT_ASSERT_EQUAL(messages, rig.messages());
  }

  void virtual_servers_of_no_service_are_not_counted() {
    IpvsRig rig;
    ok(rig, rig.full({}));
    put_server(rig, rig.key("10.99.0.1", 80));
    expect(rig, {});
  }

  void before_the_first_apply_the_call_returns_retry() {
    IpvsRig rig;
    CPPUNIT_ASSERT(rows(rig).empty() && rig.inspected == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.servers.dumps());
    ok(rig, rig.full({example()}));
    rig.servers.dumps_left = 1;
    CPPUNIT_ASSERT(rows(rig).empty() && rig.inspected == abi::Code::kRetry);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsCounterRowsTest);

}  // namespace counter_rows_test
}  // namespace sluice::test
