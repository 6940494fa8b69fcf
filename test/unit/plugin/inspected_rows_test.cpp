// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/inspected_rows.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include "sluice/sdk/address.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::plugin {
namespace inspected_rows_test {

constexpr abi::Family kV6 = abi::Family::kIpv6;

class InspectedRowsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(InspectedRowsTest);
  CPPUNIT_TEST(counters_have_addresses_as_their_flags_say);
  CPPUNIT_TEST(drift_without_service_port_has_no_protocol);
  CPPUNIT_TEST(a_step_is_copied);
  CPPUNIT_TEST_SUITE_END();

  static abi::ServicePortKey key() {
    return {sdk::view("shop"), sdk::view("cart"), sdk::view("http"), abi::Protocol::kTcp, {}};
  }

 public:
  void counters_have_addresses_as_their_flags_say() {
    abi::InspectedCounters row{};
    row.key = key();
    row.address = *sdk::parse_address("fd00::1", kV6);
    row.target = *sdk::parse_address("fd00::2", kV6);
    row.port = 80;
    row.target_port = 8080;
    row.connections = 1;
    row.packets = 2;
    row.bytes = 3;
    row.reply_packets = 4;
    row.reply_bytes = 5;
    row.active_connections = 6;
    row.refused = 7;
    const InspectedCounters all = copy(row, kV6);
    CPPUNIT_ASSERT(all.address.empty() && all.port == 0 && all.target.empty() && all.target_port == 0);
    CPPUNIT_ASSERT_EQUAL(std::string("shop cart http tcp"),
                         all.key.name_space + " " + all.key.service + " " + all.key.port_name + " " + all.key.protocol);
    CPPUNIT_ASSERT(all.connections == 1 && all.packets == 2 && all.bytes == 3 && all.reply_packets == 4 &&
                   all.reply_bytes == 5 && all.active_connections == 6 && all.refused == 7);
    row.flags = abi::kCountedFrontend | abi::kCountedTarget;
    const InspectedCounters both = copy(row, kV6);
    CPPUNIT_ASSERT(both.address == "fd00::1" && both.port == 80 && both.target == "fd00::2" &&
                   both.target_port == 8080);
    row.flags = abi::kCountedFrontend | abi::kCountedNodePort;
    const InspectedCounters node_port = copy(row, kV6);
    CPPUNIT_ASSERT(node_port.address.empty() && node_port.port == 80 && node_port.target.empty());
  }

  void drift_without_service_port_has_no_protocol() {
    abi::InspectedDrift row{};
    row.kind = abi::DriftKind::kDriftForeign;
    row.count = 3;
    row.object = sdk::view("a\nrule");
    row.wanted = sdk::view("w");
    row.found = sdk::view("f");
    const InspectedDrift made = copy(row, kV6);
    CPPUNIT_ASSERT(made.key.service.empty() && made.key.protocol.empty());
    CPPUNIT_ASSERT(made.kind == abi::DriftKind::kDriftForeign && made.count == 3);
    CPPUNIT_ASSERT_EQUAL(std::string("a rule w f"), made.object + " " + made.wanted + " " + made.found);
    row.key = key();
    CPPUNIT_ASSERT_EQUAL(std::string("tcp"), copy(row, kV6).key.protocol);
  }

  void a_step_is_copied() {
    abi::InspectedTarget target{};
    target.address = *sdk::parse_address("fd00::2", kV6);
    target.port = 80;
    abi::InspectedStep row{};
    row.object = sdk::view("chain\tX");
    row.effect = sdk::view("does");
    row.remarks = sdk::view("r");
    row.targets = sdk::array(&target, 1);
    row.verdict = abi::InspectedVerdict::kServed;
    row.flags = abi::kStepCounted;
    row.packets = 8;
    row.bytes = 9;
    const InspectedStep made = copy(row, kV6);
    CPPUNIT_ASSERT_EQUAL(std::string("chain X does r"), made.object + " " + made.effect + " " + made.remarks);
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::2"), made.targets.at(0).address);
    CPPUNIT_ASSERT(made.verdict == row.verdict && made.flags == row.flags && made.packets == 8 && made.bytes == 9);
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(InspectedRowsTest);

}  // namespace inspected_rows_test
}  // namespace sluice::plugin
