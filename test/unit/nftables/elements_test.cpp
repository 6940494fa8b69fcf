// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keys and data byte by byte, as the kernel compares them.
#include "plugins/nftables/elements.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <bit>
#include <string>

#include "plugins/nftables/layout/set_spec.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::test {
namespace elements_test {

using namespace nftables;

constexpr abi::Family kV4 = abi::Family::kIpv4;
constexpr abi::Family kV6 = abi::Family::kIpv6;

template <class Some>
std::string hex(const Some& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i != 0 && i % 4 == 0) text += ' ';
    text += kDigits[bytes.data()[i] >> 4];
    text += kDigits[bytes.data()[i] & 15];
  }
  return text;
}

// A number in host order.
std::string word(std::uint32_t number) { return hex(number_data(number)); }

FrontendKey frontend(abi::Family family, const std::string& address, std::uint16_t port) {
  return {false, *sdk::parse_address(address, family), abi::Protocol::kTcp, port};
}

EndpointAddress endpoint(abi::Family family, const std::string& address, std::uint16_t port) {
  return {*sdk::parse_address(address, family), port};
}

class NftablesElementsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesElementsTest);
  CPPUNIT_TEST(components_begin_at_whole_words);
  CPPUNIT_TEST(numbers_are_in_the_order_of_this_machine);
  CPPUNIT_TEST(what_is_made_is_read_again);
  CPPUNIT_TEST(keys_are_as_long_as_those_of_their_sets);
  CPPUNIT_TEST(texts);
  CPPUNIT_TEST_SUITE_END();

  void components_begin_at_whole_words() {
    const FrontendKey four = frontend(kV4, "172.30.0.41", 443);
    CPPUNIT_ASSERT_EQUAL(std::string("ac1e0029 06000000 01bb0000"), hex(frontend_key(kV4, four)));
    const FrontendKey node_port{true, {}, abi::Protocol::kSctp, 30001};
    CPPUNIT_ASSERT_EQUAL(std::string("84000000 75310000"), hex(frontend_key(kV4, node_port)));
    CPPUNIT_ASSERT_EQUAL(std::string("84000000 75310000"), hex(frontend_key(kV6, node_port)));
    CPPUNIT_ASSERT_EQUAL(std::string("0ab40001 1f900000"), hex(endpoint_data(kV4, endpoint(kV4, "10.180.0.1", 8080))));
    CPPUNIT_ASSERT_EQUAL(std::string("0ab40001 0ab40001 11000000 1f900000"),
                         hex(hairpin_key(kV4, endpoint(kV4, "10.180.0.1", 8080), abi::Protocol::kUdp)));
    CPPUNIT_ASSERT_EQUAL(std::string("fd000000 00000000 00000000 00000001 06000000 00500000"),
                         hex(frontend_key(kV6, frontend(kV6, "fd00::1", 80))));
    CPPUNIT_ASSERT_EQUAL(std::string("fd000000 00000000 00000000 00000001"),
                         hex(address_key(kV6, *sdk::parse_address("fd00::1", kV6))));
  }

  void numbers_are_in_the_order_of_this_machine() {
    CPPUNIT_ASSERT_EQUAL(std::string(std::endian::native == std::endian::little ? "04030201" : "01020304"),
                         word(0x01020304));
    CPPUNIT_ASSERT_EQUAL("ac1e0029 06000000 00500000 " + word(kLocalSlots + 2),
                         hex(slot_key(kV4, frontend(kV4, "172.30.0.41", 80), kLocalSlots + 2)));
    CPPUNIT_ASSERT_EQUAL(word(0x50000) + " " + word(3), hex(affinity_slot_key(0x50000, 3)));
    CPPUNIT_ASSERT_EQUAL("11000000 " + word(0x50007), hex(token_key(abi::Protocol::kUdp, 0x50007)));
  }

  void what_is_made_is_read_again() {
    for (const abi::Family family : {kV4, kV6}) {
      const std::string address = family == kV4 ? "10.1.2.3" : "fd00:1::2:3";
      const FrontendKey made = frontend(family, address, 65535);
      const FrontendKey read = read_frontend(family, slot_key(family, made, 7), false);
      CPPUNIT_ASSERT_EQUAL(address, sdk::to_string(read.address, family));
      CPPUNIT_ASSERT_EQUAL(std::uint16_t{65535}, read.port);
      CPPUNIT_ASSERT(read.protocol == abi::Protocol::kTcp && !read.node_port);
      CPPUNIT_ASSERT_EQUAL(std::uint32_t{7}, last_word(slot_key(family, made, 7)));
      const EndpointAddress target = endpoint(family, address, 256);
      CPPUNIT_ASSERT(target == read_endpoint(family, endpoint_data(family, target)));
      const FrontendKey node_port =
          read_frontend(family, frontend_key(family, {true, {}, abi::Protocol::kUdp, 30053}), true);
      CPPUNIT_ASSERT(node_port.node_port && node_port.port == 30053 && node_port.protocol == abi::Protocol::kUdp);
    }
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{4711}, read_number(number_data(4711)));
  }

  void keys_are_as_long_as_those_of_their_sets() {
    for (const abi::Family family : {kV4, kV6}) {
      const abi::Address address{};
      const FrontendKey service{false, address, abi::Protocol::kTcp, 80}, node_port{true, {}, abi::Protocol::kTcp, 80};
      const auto same = [&](SetId set, const Key& key, const Data& data) {
        const SetSpec spec = set_spec(family, set);
        CPPUNIT_ASSERT_EQUAL_MESSAGE(spec.name, std::size_t{spec.key_size}, key.size());
        CPPUNIT_ASSERT_EQUAL_MESSAGE(spec.name, std::size_t{spec.data_size}, data.size());
      };
      const Data number = number_data(1), target = endpoint_data(family, {});
      same(SetId::kClusterIps, address_key(family, address), {});
      same(SetId::kNodePortIps, address_key(family, address), {});
      same(SetId::kHairpin, hairpin_key(family, {}, abi::Protocol::kTcp), {});
      same(SetId::kServiceIps, frontend_key(family, service), number);
      same(SetId::kServiceNodePorts, frontend_key(family, node_port), number);
      same(SetId::kEndpoints, slot_key(family, service, 0), target);
      same(SetId::kNodePortEndpoints, slot_key(family, node_port, 0), target);
      same(SetId::kNoEndpointServices, frontend_key(family, service), {});
      same(SetId::kNoEndpointNodePorts, frontend_key(family, node_port), {});
      same(SetId::kNoLocalServices, frontend_key(family, service), {});
      same(SetId::kNoLocalNodePorts, frontend_key(family, node_port), {});
      same(SetId::kFirewallIps, frontend_key(family, service), number);
      same(SetId::kAffinityServices, frontend_key(family, service), number);
      same(SetId::kAffinityNodePorts, frontend_key(family, node_port), number);
      same(SetId::kAffinitySlots, affinity_slot_key(0, 0), number);
      same(SetId::kAffinityEndpoints, token_key(abi::Protocol::kTcp, 0), target);
      same(SetId::kAffinityLocalEndpoints, token_key(abi::Protocol::kTcp, 0), target);
    }
  }

  void texts() {
    CPPUNIT_ASSERT_EQUAL(std::string("172.30.0.41:80/tcp"), to_string(kV4, frontend(kV4, "172.30.0.41", 80)));
    CPPUNIT_ASSERT_EQUAL(std::string("[fd00::1]:80/tcp"), to_string(kV6, frontend(kV6, "fd00::1", 80)));
    CPPUNIT_ASSERT_EQUAL(std::string(":30001/udp"), to_string(kV4, FrontendKey{true, {}, abi::Protocol::kUdp, 30001}));
    CPPUNIT_ASSERT_EQUAL(std::string("[fd00::1]:80"), to_string(kV6, endpoint(kV6, "fd00::1", 80)));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesElementsTest);

}  // namespace elements_test
}  // namespace sluice::test
