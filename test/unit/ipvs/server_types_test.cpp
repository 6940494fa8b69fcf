// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/server_types.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include "plugins/ipvs/links/address_writer.hpp"
#include "plugins/ipvs/node/preparation.hpp"
#include "plugins/ipvs/node/probe.hpp"
#include "plugins/ipvs/rules/rule_writer.hpp"
#include "plugins/ipvs/sets/set_writer.hpp"
#include "plugins/ipvs/wanted.hpp"

namespace sluice::ipvs {
namespace server_types_test {

class ValuesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ValuesTest);
  CPPUNIT_TEST(prints_as_the_behaviour_says);
  CPPUNIT_TEST(distinguishes_keys);
  CPPUNIT_TEST_SUITE_END();

 public:
  void prints_as_the_behaviour_says() {
    const ServerKey four{*sdk::parse_address("172.30.0.41", abi::Family::kIpv4), 80, abi::Protocol::kTcp};
    CPPUNIT_ASSERT_EQUAL(std::string("172.30.0.41:80/TCP"), to_string(four, abi::Family::kIpv4));
    const ServerKey six{*sdk::parse_address("fd00::1", abi::Family::kIpv6), 53, abi::Protocol::kUdp};
    CPPUNIT_ASSERT_EQUAL(std::string("[fd00::1]:53/UDP"), to_string(six, abi::Family::kIpv6));
  }

  void distinguishes_keys() {
    ServerKey tcp{*sdk::parse_address("10.0.0.1", abi::Family::kIpv4), 53, abi::Protocol::kTcp};
    ServerKey udp = tcp;
    udp.protocol = abi::Protocol::kUdp;
    CPPUNIT_ASSERT(!(tcp == udp));
    CPPUNIT_ASSERT(tcp < udp);
    CPPUNIT_ASSERT(!(udp < tcp));
    CPPUNIT_ASSERT(ServerKeyHash()(tcp) != ServerKeyHash()(udp));
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(ValuesTest);

}  // namespace server_types_test
}  // namespace sluice::ipvs
