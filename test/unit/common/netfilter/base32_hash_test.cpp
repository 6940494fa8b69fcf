// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/base32_hash.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

namespace sluice::netfilter {
namespace base32_hash_test {

std::string hash(std::string_view input) {
  const ShortHash made = base32_hash(input);
  return std::string(made.data(), made.size());
}

class Base32HashTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(Base32HashTest);
  CPPUNIT_TEST(agrees_with_kube_proxy);
  CPPUNIT_TEST(hashes_any_bytes);
  CPPUNIT_TEST_SUITE_END();

  void agrees_with_kube_proxy() {
    const struct {
      const char* input;
      const char* hash;
    } kVectors[] = {{"ns1/svc1:p80tcp", "XPGD46QRK7WJZT7O"},
                    {"ns2/svc2:p80tcp", "GNZBNJ2PO5MGZ6GT"},
                    {"ns3/svc3:p80tcp", "X27LE4BHSL4DOUIK"},
                    {"ns4/svc4:p80tcp", "4SW47YFZTEDKD3PK"},
                    {"default/kubernetes:httpstcp", "NPX46M4PTMTKRN6Y"},
                    {"kube-system/kube-dns:dnsudp", "TCOU7JCQXEZGVUNU"},
                    {"ns1/svc1tcp", "AQI2S6QIMU7PVVRP"},
                    {"ns1/svc1:p80tcp10.180.0.1:80", "SXIVWICOYRO3J4NJ"},
                    {"ns4/svc4:p80tcp10.180.0.4:80", "UKSFD7AGPMPPLUHC"},
                    {"ns4/svc4:p80tcp10.180.0.5:80", "C6EBXVWJJZMIWKLZ"},
                    {"ns1/svc1:p80tcp[fd00::1]:80", "T5UNFIPVCZXM3U7X"}};
    for (const auto& vector : kVectors) CPPUNIT_ASSERT_EQUAL(std::string(vector.hash), hash(vector.input));
  }

  void hashes_any_bytes() {
    CPPUNIT_ASSERT_EQUAL(std::string("4OYMIQUY7QOBJGX3"), hash(""));
    CPPUNIT_ASSERT(hash(std::string_view("a\0b", 3)) != hash("a"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(Base32HashTest);

}  // namespace base32_hash_test
}  // namespace sluice::netfilter
