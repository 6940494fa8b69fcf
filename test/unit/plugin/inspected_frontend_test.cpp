// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/inspected_frontend.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include "sluice/sdk/address.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::plugin {
namespace inspected_frontend_test {

class InspectedFrontendTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(InspectedFrontendTest);
  CPPUNIT_TEST(a_frontend_is_copied);
  CPPUNIT_TEST(another_object_has_only_its_text);
  CPPUNIT_TEST_SUITE_END();

  static constexpr abi::Family kV6 = abi::Family::kIpv6;

  void a_frontend_is_copied() {
    abi::InspectedTarget targets[2] = {};
    targets[0].address = *sdk::parse_address("fd00::1", kV6);
    targets[0].port = 8080;
    targets[0].remarks = sdk::view("late\nanswer");
    targets[1].flags = abi::kTargetUnknown;
    targets[1].object = sdk::view("KUBE-SEP-X");
    const abi::Prefix prefixes[] = {{*sdk::parse_address("fd00::7", kV6), 128, {}}, {*sdk::parse_address("fd00::", kV6), 8, {}}};
    abi::InspectedFrontend row{};
    row.key = {sdk::view("shop"), sdk::view("cart"), sdk::view("http"), abi::Protocol::kUdp, {}};
    row.port = 30080;
    row.flags = abi::kInspectedNodePort;
    row.addresses = row.source_ranges = sdk::array(prefixes, 2);
    row.targets = {sdk::array(targets, 2), {}, sdk::view("uneven")};
    row.node_targets.instead = sdk::view("nowhere");
    row.otherwise = sdk::view("rejected");
    const InspectedFrontend made = copy(row, kV6);
    CPPUNIT_ASSERT_EQUAL(std::string("shop cart http udp"),
                         made.name_space + " " + made.service + " " + made.port_name + " " + made.protocol);
    CPPUNIT_ASSERT(made.address.empty() && made.port == 30080 && made.has(abi::kInspectedNodePort));
    CPPUNIT_ASSERT((std::vector<std::string>{"fd00::7", "fd00::/8"}) == made.addresses);
    CPPUNIT_ASSERT((std::vector<std::string>{"fd00::7/128", "fd00::/8"}) == made.source_ranges);
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::1 late answer"),
                         made.targets.targets.at(0).address + " " + made.targets.targets.at(0).remarks);
    CPPUNIT_ASSERT_EQUAL(std::string(" KUBE-SEP-X"), made.targets.targets.at(1).address + " " + made.targets.targets.at(1).object);
    CPPUNIT_ASSERT_EQUAL(std::string("uneven nowhere rejected"),
                         made.targets.remarks + " " + made.node_targets.instead + " " + made.otherwise);
  }

  void another_object_has_only_its_text() {
    abi::InspectedFrontend row{};
    row.flags = abi::kInspectedNotWanted;
    row.object = sdk::view("chain X");
    const InspectedFrontend made = copy(row, kV6);
    CPPUNIT_ASSERT(made.object == "chain X" && made.address.empty() && made.protocol.empty());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(InspectedFrontendTest);

}  // namespace inspected_frontend_test
}  // namespace sluice::plugin
