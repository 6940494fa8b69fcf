// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/ipvs_connections.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

namespace sluice::cleanup {
namespace ipvs_connections_test {

constexpr char kHeader[] =
    "IP Virtual Server version 1.2.1 (size=4096)\n"
    "Prot LocalAddress:Port Scheduler Flags\n"
    "  -> RemoteAddress:Port Forward Weight ActiveConn InActConn\n";
// Output of kernel 6.1.
constexpr char kServers[] =
    "TCP  AC1E0029:0050 rr  \n"
    "  -> 0AB40001:1F90      Masq    1      3          20        \n"
    "  -> 0AB40002:1F90      Masq    0      400        0         \n"
    "UDP  AC1E000A:0035 rr  \n"
    "  -> 0AB40003:0035      Masq    1      0          5000      \n"
    "TCP  0A000001:0050 wlc  \n"
    "  -> 0AB40009:0050      Route   1      70000      0         \n"
    "FWM  00000007 wlc  \n"
    "  -> 0AB40009:0050      Route   1      70000      0         \n"
    "TCP  [fd00:0030:0000:0000:0000:0000:0000:0029]:0050 rr \n"
    "  -> [fd00:0010:0000:0000:0000:0000:0000:0001]:1F90      Masq    1      600000     0         \n";

class CleanupIpvsConnectionsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CleanupIpvsConnectionsTest);
  CPPUNIT_TEST(counts_connections_of_kube_proxys_servers);
  CPPUNIT_TEST(counts_nothing_without_servers);
  CPPUNIT_TEST(distinguishes_kube_proxys_servers_from_foreign_ones);
  CPPUNIT_TEST(ignores_malformed_lines);
  CPPUNIT_TEST_SUITE_END();

  static IpvsOwnership with(std::initializer_list<const char*> addresses) {
    IpvsOwnership out;
    for (const char* address : addresses) out.bound(*lib::IpAddress::parse(address));
    return out;
  }

 public:
  void counts_connections_of_kube_proxys_servers() {
    const std::string table = std::string(kHeader) + kServers;
    CPPUNIT_ASSERT_EQUAL(std::size_t{605423},
                         count_ipvs_connections(table, with({"172.30.0.41", "172.30.0.10", "fd00:30::29"})));
    CPPUNIT_ASSERT_EQUAL(std::size_t{423}, count_ipvs_connections(table, with({"172.30.0.41"})));
    CPPUNIT_ASSERT_EQUAL(std::size_t{600000}, count_ipvs_connections(table, with({"fd00:30::29"})));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, count_ipvs_connections(table, with({"172.30.0.42"})));
  }

  void counts_nothing_without_servers() {
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, count_ipvs_connections("", with({"172.30.0.41"})));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, count_ipvs_connections(kHeader, with({"172.30.0.41"})));
  }

  void distinguishes_kube_proxys_servers_from_foreign_ones() {
    const std::string table = std::string(kHeader) + kServers;
    CPPUNIT_ASSERT(has_ipvs_servers(table, with({"172.30.0.10"})));
    CPPUNIT_ASSERT(has_ipvs_servers(table, with({"fd00:30::29"})));
    // No server of kube-proxy, even if its link and sets exist.
    CPPUNIT_ASSERT(!has_ipvs_servers(table, with({"172.30.0.42"})));
    CPPUNIT_ASSERT(!has_ipvs_servers(kHeader, with({"172.30.0.41"})));
    CPPUNIT_ASSERT(!has_ipvs_servers("", with({"172.30.0.41"})));
  }

  void ignores_malformed_lines() {
    const auto ours = with({"172.30.0.41"});
    for (const char* malformed : {"TCP  AC1E0029 rr", "TCP  AC1E29:0050 rr", "TCP  AC1E0029:10050 rr",
                               "TCP  [ac1e]:0050 rr", "ICMP AC1E0029:0050 rr", "TCP"}) {
      const std::string table =
          std::string(kHeader) + "TCP  AC1E0029:0050 rr\n" + malformed + "\n  -> 0AB40001:1F90 Masq 1 3 20\n";
      // A line that is not a valid server ends the previous server, which is ours.
      CPPUNIT_ASSERT_EQUAL_MESSAGE(malformed, std::size_t{0}, count_ipvs_connections(table, ours));
    }
    CPPUNIT_ASSERT_EQUAL(
        std::size_t{0},
        count_ipvs_connections("TCP  AC1E0029:0050 rr\n  -> 0AB40001:1F90 Masq 1 3\n  -> x y z u v w", ours));
    CPPUNIT_ASSERT_EQUAL(std::size_t{7},
                         count_ipvs_connections("TCP  AC1E0029:0050 rr\n  -> 0AB40001:1F90 Masq 1 3 4", ours));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CleanupIpvsConnectionsTest);

}  // namespace ipvs_connections_test
}  // namespace sluice::cleanup
