// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/layout/typeof.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <string>

namespace sluice::nftables {
namespace typeof_test {

std::string hex(const std::string& bytes) {
  static const char* digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

using P = TypeofPart;

// The expected bytes were read from the kernel after nft 1.0.6 had written them.
class TypeofTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(TypeofTest);
  CPPUNIT_TEST(endpoints_are_as_nft_writes_them);
  CPPUNIT_TEST(endpoints_of_ipv6_are_as_nft_writes_them);
  CPPUNIT_TEST(affinity_slots_are_as_nft_writes_them);
  CPPUNIT_TEST(plain_types_are_as_nft_writes_them);
  CPPUNIT_TEST(comments_come_back);
  CPPUNIT_TEST(invalid_userdata_has_no_comment);
  CPPUNIT_TEST_SUITE_END();

  static std::string endpoints(abi::Family family) {
    const NftType key{{P::kDestination, P::kProtocol, P::kPort, P::kSlot}, true, 0};
    const NftType data{{P::kDestination, P::kPort}, true, 0};
    return hex(set_userdata(family, key, &data, "x"));
  }

  void endpoints_are_as_nft_writes_them() {
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "000400000000010400000000036000040d00000001580014000407000000010c00040c00000001040c000000010e0004090000000"
            "1060004100000000214000407000000010c00040b000000010402000000031a000417000000011200040100000001040000010002"
            "0400000000043400040d000000012c0014000407000000010c00040c00000001040c0000000114000407000000010c00040b00000"
            "001040200000006040000000007027800"),
        endpoints(abi::Family::kIpv4));
  }
  void endpoints_of_ipv6_are_as_nft_writes_them() {
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "000400000000010400000000036000040d00000001580014000407000000010c00040d000000010409000000010e0004090000000"
            "1060004100000000214000407000000010c00040b000000010402000000031a000417000000011200040100000001040000010002"
            "0400000000043400040d000000012c0014000407000000010c00040d0000000104090000000114000407000000010c00040b00000"
            "001040200000006040000000007027800"),
        endpoints(abi::Family::kIpv6));
  }
  void affinity_slots_are_as_nft_writes_them() {
    const NftType key{{P::kPriority, P::kSlot}, true, 0};
    const NftType data{{P::kPriority}, false, kHostOrder};
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "000400000000010401000000033400040d000000012c000e0004090000000106000402000000011a0004170000000112000401000"
            "000010400000100020400000000040e000409000000010600040200000006040000000007027800"),
        hex(set_userdata(abi::Family::kIpv4, key, &data, "x")));
  }
  void plain_types_are_as_nft_writes_them() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("000402000000071241637469766520436c757374657249507300"),
        hex(set_userdata(abi::Family::kIpv4, {{}, false, kNetworkOrder}, nullptr, "Active ClusterIPs")));
    const NftType number{{}, false, kHostOrder};
    CPPUNIT_ASSERT_EQUAL(std::string("000400000000010401000000030800040d000000010006040000000007027800"),
                         hex(set_userdata(abi::Family::kIpv4, {{}, true, 0}, &number, "x")));
  }
  void comments_come_back() {
    for (const std::string comment : {"", "a", "drops unknown packets"}) {
      const std::string userdata = comment_userdata(comment);
      CPPUNIT_ASSERT_EQUAL(comment, read_comment(userdata.data(), userdata.size()));
    }
    const std::string after = std::string("\x01\x01z", 3) + comment_userdata("second");
    CPPUNIT_ASSERT_EQUAL(std::string("second"), read_comment(after.data(), after.size()));
  }
  void invalid_userdata_has_no_comment() {
    const std::string whole = comment_userdata("comment");
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::string cut = whole.substr(0, size);  // a copy, so that reads beyond the end are detected
      CPPUNIT_ASSERT_EQUAL(std::string(), read_comment(cut.data(), cut.size()));
    }
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(TypeofTest);

}  // namespace typeof_test
}  // namespace sluice::nftables
