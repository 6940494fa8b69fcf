// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/ip.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <utility>

namespace sluice::lib {
namespace ip_test {

class IpTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(IpTest);
  CPPUNIT_TEST(reads_leniently_and_prints_canonically);
  CPPUNIT_TEST(rejects_invalid_addresses);
  CPPUNIT_TEST(host_bits_of_prefixes_are_cleared);
  CPPUNIT_TEST(rejects_invalid_prefixes);
  CPPUNIT_TEST(contains);
  CPPUNIT_TEST(host_and_port);
  CPPUNIT_TEST(special_addresses_have_a_kind);
  CPPUNIT_TEST_SUITE_END();

  void reads_leniently_and_prints_canonically() {  // case 10
    for (const auto& [in, out] : {std::pair{"10.0.0.1", "10.0.0.1"},
                                  {"172.030.000.041", "172.30.0.41"},
                                  {"010.180.0.1", "10.180.0.1"},
                                  {"FD00:0::1", "fd00::1"},
                                  {"::ffff:10.1.2.3", "10.1.2.3"},
                                  {"::", "::"}}) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(in, std::string(out), IpAddress::parse(in)->to_string());
    }
  }

  void rejects_invalid_addresses() {
    for (const char* in : {"", "1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.-4", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4/8",
                           "a.b.c.d", ":::", "fd00::1%eth0", "[fd00::1]", "1..2.3", "1.2.3.", "0x1.2.3.4",
                           "99999999999999999999.1.1.1"}) {
      CPPUNIT_ASSERT_MESSAGE(in, !IpAddress::parse(in));
    }
    CPPUNIT_ASSERT(!IpAddress::parse(std::string(5000, ':')));
    CPPUNIT_ASSERT(!IpAddress::parse(std::string_view("1.2.3.4\0", 8)));
  }

  void special_addresses_have_a_kind() {
    for (const auto& [in, kind] : {std::pair{"0.0.0.0", "unspecified"},
                                   {"::", "unspecified"},
                                   {"127.0.0.1", "loopback"},
                                   {"127.255.255.255", "loopback"},
                                   {"::1", "loopback"},
                                   {"::ffff:127.0.0.1", "loopback"},
                                   {"169.254.0.1", "link-local"},
                                   {"fe80::1", "link-local"},
                                   {"febf::1", "link-local"},
                                   {"224.0.0.1", "multicast"},
                                   {"239.255.255.255", "multicast"},
                                   {"ff02::1", "multicast"},
                                   {"255.255.255.255", "broadcast"},
                                   {"0.0.0.1", ""},
                                   {"128.0.0.1", ""},
                                   {"169.253.0.1", ""},
                                   {"169.255.0.1", ""},
                                   {"223.255.255.255", ""},
                                   {"240.0.0.1", ""},
                                   {"255.255.255.254", ""},
                                   {"fec0::1", ""},
                                   {"fd00::1", ""},
                                   {"::2", ""}}) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(in, std::string(kind), std::string(IpAddress::parse(in)->special_kind()));
    }
  }

  void host_bits_of_prefixes_are_cleared() {
    CPPUNIT_ASSERT_EQUAL(std::string("1.2.3.0/24"), IpPrefix::parse("1.2.3.4/24")->to_string());
    CPPUNIT_ASSERT_EQUAL(std::string("1.2.3.4/31"), IpPrefix::parse("1.2.3.5/31")->to_string());
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::/8"), IpPrefix::parse("fdff::1/8")->to_string());
    CPPUNIT_ASSERT_EQUAL(std::string("0.0.0.0/0"), IpPrefix::parse("9.9.9.9/0")->to_string());
    CPPUNIT_ASSERT(*IpPrefix::parse("1.2.3.4/24") == *IpPrefix::parse("1.2.3.99/24"));
  }

  void rejects_invalid_prefixes() {
    for (const char* in : {"", "1.2.3.4", "1.2.3.4/", "1.2.3.4/33", "fd00::/129", "1.2.3.4/-1", "1.2.3.4/8x", "/8"}) {
      CPPUNIT_ASSERT_MESSAGE(in, !IpPrefix::parse(in));
    }
  }

  void contains() {
    const auto prefix = *IpPrefix::parse("10.128.0.0/9");
    CPPUNIT_ASSERT(prefix.contains(*IpAddress::parse("10.200.1.1")));
    CPPUNIT_ASSERT(!prefix.contains(*IpAddress::parse("10.1.1.1")));
    CPPUNIT_ASSERT(!prefix.contains(*IpAddress::parse("fd00::1")));
    CPPUNIT_ASSERT(prefix.contains(*IpPrefix::parse("10.192.0.0/16")));
    CPPUNIT_ASSERT(!prefix.contains(*IpPrefix::parse("10.0.0.0/8")));
  }

  void host_and_port() {
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1:80"), host_port(*IpAddress::parse("10.0.0.1"), 80));
    CPPUNIT_ASSERT_EQUAL(std::string("[fd00::1]:80"), host_port(*IpAddress::parse("fd00::1"), 80));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpTest);

}  // namespace ip_test
}  // namespace sluice::lib
