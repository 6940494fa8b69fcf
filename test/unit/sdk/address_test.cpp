// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/extensions/HelperMacros.h>

#include "sluice/sdk/sdk.hpp"

namespace sluice::sdk {
namespace address_test {

using abi::Family;

class AddressTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(AddressTest);
  CPPUNIT_TEST(addresses_print_in_canonical_form);
  CPPUNIT_TEST(host_and_port_bracket_ipv6);
  CPPUNIT_TEST(prefixes_print_with_their_length);
  CPPUNIT_TEST(address_of_the_other_family_is_rejected);
  CPPUNIT_TEST(addresses_compare_and_order);
  CPPUNIT_TEST_SUITE_END();

  static abi::Address parse(const char* text, Family family) { return parse_address(text, family).value(); }

  void addresses_print_in_canonical_form() {
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1"), to_string(parse("10.0.0.1", Family::kIpv4), Family::kIpv4));
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::1"), to_string(parse("FD00:0:0::0001", Family::kIpv6), Family::kIpv6));
  }

  void host_and_port_bracket_ipv6() {
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1:80"), host_port(parse("10.0.0.1", Family::kIpv4), Family::kIpv4, 80));
    CPPUNIT_ASSERT_EQUAL(std::string("[::]:65535"), host_port(abi::Address{}, Family::kIpv6, 65535));
  }

  void prefixes_print_with_their_length() {
    CPPUNIT_ASSERT_EQUAL(std::string("0.0.0.0/0"), to_string(abi::Prefix{}, Family::kIpv4));
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::/64"),
                         to_string(abi::Prefix{parse("fd00::", Family::kIpv6), 64, {}}, Family::kIpv6));
  }

  void address_of_the_other_family_is_rejected() {
    CPPUNIT_ASSERT(!parse_address("fd00::1", Family::kIpv4));
    CPPUNIT_ASSERT(!parse_address("10.0.0.1", Family::kIpv6));
    CPPUNIT_ASSERT(!parse_address("10.0.0.1 ", Family::kIpv4));
  }

  void addresses_compare_and_order() {
    const abi::Address one = parse("10.0.0.1", Family::kIpv4), two = parse("10.0.0.2", Family::kIpv4);
    CPPUNIT_ASSERT(one == one && one != two && one < two && !(two < one));
    CPPUNIT_ASSERT(is_unspecified(abi::Address{}) && !is_unspecified(one));
    CPPUNIT_ASSERT((abi::Prefix{one, 32, {}} != abi::Prefix{one, 31, {}}));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(AddressTest);

}  // namespace address_test
}  // namespace sluice::sdk
