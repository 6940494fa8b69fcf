// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Connections as the kernel prints them, and which of them are still alive.
#include "plugins/ipvs/servers/connection_table.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <fstream>

#include "test/unit/temporary_folder.hpp"

namespace sluice::ipvs {
namespace connection_table_test {

constexpr auto kFour = abi::Family::kIpv4;
constexpr auto kSix = abi::Family::kIpv6;

std::string text_of(const ServerConnection& one, abi::Family family) {
  return sdk::to_string(one.client, family) + " " + std::to_string(one.client_port) + " " +
         to_string(one.server, family) + " " + to_string(one.real, family) + " " + one.state + " " +
         std::to_string(one.expires);
}

class ConnectionTableTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ConnectionTableTest);
  CPPUNIT_TEST(reads_what_the_kernel_prints);
  CPPUNIT_TEST(other_lines_are_skipped);
  CPPUNIT_TEST(half_closed_is_alive);
  CPPUNIT_TEST(visits_a_file);
  CPPUNIT_TEST_SUITE_END();

  void reads_what_the_kernel_prints() {
    // From Linux 6.1.
    const auto tcp = parse_connection("TCP 0A010002 DA06 0A600001 0050 0A020002 1F90 CLOSE_WAIT       58", kFour);
    CPPUNIT_ASSERT(tcp && !tcp->is_template());
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.0.2 55814 10.96.0.1:80/TCP 10.2.0.2:8080 CLOSE_WAIT 58"),
                         text_of(*tcp, kFour));
    const auto bound = parse_connection("UDP 0A010002 0000 0A600001 0050 0A020002 1F90 NONE             98", kFour);
    CPPUNIT_ASSERT(bound && bound->is_template());
    const auto six = parse_connection(
        "SCTP fd00:0000:0000:0000:0000:0000:0000:0007 DA06 fd00:0096:0000:0000:0000:0000:0000:0001 0050 "
        "fd00:0001:0000:0000:0000:0000:0000:0002 1F90 ESTABLISHED     899 sip data",
        kSix);
    CPPUNIT_ASSERT(six.has_value());
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::7 55814 [fd00:96::1]:80/SCTP [fd00:1::2]:8080 ESTABLISHED 899"),
                         text_of(*six, kSix));
  }

  void other_lines_are_skipped() {
    for (const char* line : {"Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData", "",
                             "TCP 0A010002 DA06 0A600001 0050 0A020002 1F90 CLOSE_WAIT",
                             "ICMP 0A010002 DA06 0A600001 0050 0A020002 1F90 NONE 1",
                             "TCP 0A010002 DA06X 0A600001 0050 0A020002 1F90 NONE 1",
                             "TCP 0A01000 DA06 0A600001 0050 0A020002 1F90 NONE 1"}) {
      CPPUNIT_ASSERT_MESSAGE(line, !parse_connection(line, kFour));
    }
    const std::string tcp = "TCP 0A010002 DA06 0A600001 0050 0A020002 1F90 CLOSE_WAIT 58";
    CPPUNIT_ASSERT(parse_connection(tcp, kFour) && !parse_connection(tcp, kSix));
  }

  void half_closed_is_alive() {
    const auto alive = [](abi::Protocol protocol, const char* state, std::uint32_t expires, std::uint32_t udp = 300) {
      ServerConnection one;
      one.server.protocol = protocol;
      one.client_port = 7;
      one.state = state;
      one.expires = expires;
      return is_alive(one, {900, 120, udp});
    };
    constexpr auto tcp = abi::Protocol::kTcp;
    for (const char* state : {"ESTABLISHED", "SYN_RECV", "FIN_WAIT", "CLOSE_WAIT", "LAST_ACK"}) {
      CPPUNIT_ASSERT_MESSAGE(state, alive(tcp, state, 1));
    }
    CPPUNIT_ASSERT(alive(tcp, "TIME_WAIT", 119) && !alive(tcp, "TIME_WAIT", 115) && !alive(tcp, "CLOSE", 10) &&
                   !alive(tcp, "SYN_SENT", 119));
    CPPUNIT_ASSERT(alive(abi::Protocol::kSctp, "ESTABLISHED", 1) && !alive(abi::Protocol::kSctp, "CLOSED", 1));
    constexpr auto udp = abi::Protocol::kUdp;
    CPPUNIT_ASSERT(alive(udp, "UDP", 299) && alive(udp, "UDP", 271) && !alive(udp, "UDP", 270));
    CPPUNIT_ASSERT(alive(udp, "UDP", 11, 40) && !alive(udp, "UDP", 10, 40) && alive(udp, "UDP", 1, 30));
    CPPUNIT_ASSERT(alive(udp, "UDP", 1, 0));  // without a timeout the last packet is unknown
    ServerConnection bound;                   // a template
    bound.state = "ASSURED";
    bound.expires = 10'000;
    CPPUNIT_ASSERT(!is_alive(bound, {900, 120, 300}));
  }

  void visits_a_file() {
    const test::TemporaryFolder folder;
    const std::string path = folder.path("ip_vs_conn");
    const auto nothing = [](const ServerConnection&) { return true; };
    const auto more = [] { return true; };
    CPPUNIT_ASSERT(!visit_connections(path, kFour, nothing, more));
    {
      std::ofstream out(path);
      out << "Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData\n"
             "TCP 0A010002 DA06 0A600001 0050 0A020002 1F90 CLOSE_WAIT       58\n"
             "TCP 0A010002 DA07 0A600001 0050 0A020002 1F90 ESTABLISHED      58\n";
    }
    std::vector<std::uint16_t> ports;
    const auto note = [&](const ServerConnection& one) {
      ports.push_back(one.client_port);
      return true;
    };
    CPPUNIT_ASSERT(visit_connections(path, kFour, note, more));
    CPPUNIT_ASSERT((ports == std::vector<std::uint16_t>{0xDA06, 0xDA07}));
    CPPUNIT_ASSERT(!visit_connections(
        path, kFour, [](const ServerConnection&) { return false; }, more));
    // `more` is called for foreign connections, too, because reading them takes time.
    for (const abi::Family family : {kFour, kSix}) {
      int lines = 0;
      CPPUNIT_ASSERT(!visit_connections(path, family, nothing, [&] { return ++lines < 3; }));
      CPPUNIT_ASSERT_EQUAL(3, lines);
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ConnectionTableTest);

}  // namespace connection_table_test
}  // namespace sluice::ipvs
