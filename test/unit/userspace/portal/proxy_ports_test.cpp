// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/proxy_ports.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "sluice/sdk/error.hpp"
#include "test/unit/userspace/sockets.hpp"

namespace sluice::userspace {
namespace proxy_ports_test {

constexpr abi::Family kV4 = abi::Family::kIpv4;
constexpr abi::Family kV6 = abi::Family::kIpv6;
constexpr abi::Protocol kTcp = abi::Protocol::kTcp;
constexpr abi::Protocol kUdp = abi::Protocol::kUdp;

int option(const lib::Fd& socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  CPPUNIT_ASSERT_EQUAL(0, getsockopt(socket.get(), level, name, &value, &size));
  return value;
}

class ProxyPortsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ProxyPortsTest);
  CPPUNIT_TEST(without_a_range_the_kernel_chooses);
  CPPUNIT_TEST(a_udp_group_has_one_port);
  CPPUNIT_TEST(udp_groups_share_no_port);
  CPPUNIT_TEST(a_group_spreads_clients);
  CPPUNIT_TEST(families_do_not_conflict);
  CPPUNIT_TEST(listens_on_one_address_only_if_configured);
  CPPUNIT_TEST(the_preferred_port_is_taken_when_it_is_free);
  CPPUNIT_TEST(a_preferred_port_outside_the_range_is_not_taken);
  CPPUNIT_TEST(a_range_is_used_up_without_holes);
  CPPUNIT_TEST(the_beginning_of_a_range_is_random);
  CPPUNIT_TEST(a_full_range_is_searched_again_on_request);
  CPPUNIT_TEST(an_address_not_on_this_node_is_reported);
  CPPUNIT_TEST(descriptors_are_reserved_for_connections);
  CPPUNIT_TEST_SUITE_END();

  static ProxyPortOpener opener(abi::Family family = kV4, unsigned sockets = 4, PortRange range = {}) {
    return {family, test::loopback(family), range, sockets, 1};
  }
  // `size` ports, none of which was in use just now.
  static PortRange free_range(std::uint16_t size) {
    // Another process that runs these tests, such as a build with a sanitizer, begins elsewhere.
    const auto begin = static_cast<std::uint16_t>(21000 + getpid() % 150 * 61);
    for (std::uint16_t low = begin; low < 65000; low = static_cast<std::uint16_t>(low + size)) {
      std::vector<lib::Fd> held;
      while (held.size() < size) {
        const auto port = static_cast<std::uint16_t>(low + held.size());
        lib::Fd tcp = test::bound(kV4, SOCK_STREAM, {}, port);
        const lib::Fd udp = test::bound(kV4, SOCK_DGRAM, {}, port);
        if (!tcp || !udp) break;
        held.push_back(std::move(tcp));
      }
      if (held.size() == size) return {low, static_cast<std::uint16_t>(low + size - 1)};
    }
    CPPUNIT_FAIL("no free ports");
    return {};
  }

  void without_a_range_the_kernel_chooses() {
    const ProxySockets opened = opener().open(kTcp, 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, opened.sockets.size());
    const lib::Fd& socket = opened.sockets.front();
    CPPUNIT_ASSERT_EQUAL(opened.port, test::port_of(socket));
    CPPUNIT_ASSERT_EQUAL(1, option(socket, SOL_SOCKET, SO_ACCEPTCONN));
    CPPUNIT_ASSERT_EQUAL(1, option(socket, SOL_SOCKET, SO_REUSEADDR));
    CPPUNIT_ASSERT_EQUAL(0, test::connect_error(kV4, opened.port));
  }

  void a_udp_group_has_one_port() {
    const ProxySockets opened = opener().open(kUdp, 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, opened.sockets.size());
    for (const lib::Fd& socket : opened.sockets) {
      CPPUNIT_ASSERT_EQUAL(opened.port, test::port_of(socket));
      CPPUNIT_ASSERT_EQUAL(1, option(socket, IPPROTO_IP, IP_PKTINFO));
    }
    CPPUNIT_ASSERT(!test::bound(kV4, SOCK_DGRAM, test::loopback(kV4), opened.port));
  }

  // With SO_REUSEPORT, bind() succeeds if another socket of this user has the port with it too.
  void udp_groups_share_no_port() {
    ProxyPortOpener opener = ProxyPortsTest::opener(kV4, 4, free_range(12));
    std::vector<ProxySockets> all;
    std::set<std::uint16_t> ports;
    for (int i = 0; i < 12; ++i) {
      all.push_back(opener.open(kUdp, all.empty() ? 0 : all.front().port));
      CPPUNIT_ASSERT(ports.insert(all.back().port).second);
    }
  }

  void a_group_spreads_clients() {
    const ProxySockets opened = opener().open(kUdp, 0);
    const SocketAddress to(kV4, test::loopback(kV4), opened.port);
    std::vector<lib::Fd> clients;
    for (int i = 0; i < 64; ++i) {
      clients.push_back(test::bound(kV4, SOCK_DGRAM, test::loopback(kV4), 0));
      CPPUNIT_ASSERT_EQUAL(ssize_t{1}, sendto(clients.back().get(), "x", 1, 0, to.get(), to.size()));
    }
    std::size_t reached = 0;
    for (const lib::Fd& socket : opened.sockets) {
      pollfd wait{socket.get(), POLLIN, 0};
      reached += poll(&wait, 1, 0) == 1 ? 1 : 0;
    }
    // The probability that one of four sockets gets none of 64 clients is 4 * (3/4)^64, 4e-8.
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, reached);
  }

  void families_do_not_conflict() {
    if (!test::has_ipv6()) return;
    for (const abi::Protocol protocol : {kTcp, kUdp}) {
      const ProxySockets v6 = ProxyPortOpener(kV6, std::nullopt, {}, 2, 1).open(protocol, 0);
      const ProxySockets v4 = ProxyPortOpener(kV4, std::nullopt, {}, 2, 1).open(protocol, v6.port);
      CPPUNIT_ASSERT_EQUAL(v6.port, v4.port);
    }
  }

  void listens_on_one_address_only_if_configured() {
    const ProxySockets opened = opener().open(kTcp, 0);
    const abi::Address other = *sdk::parse_address("127.0.0.2", kV4);
    CPPUNIT_ASSERT(test::bound(kV4, SOCK_STREAM, other, opened.port));
    CPPUNIT_ASSERT(!test::bound(kV4, SOCK_STREAM, test::loopback(kV4), opened.port));
  }

  void the_preferred_port_is_taken_when_it_is_free() {
    for (const abi::Protocol protocol : {kTcp, kUdp}) {
      ProxyPortOpener opener = ProxyPortsTest::opener();
      const std::uint16_t port = test::free_port(kV4);
      {
        const ProxySockets first = opener.open(protocol, port);
        CPPUNIT_ASSERT_EQUAL(port, first.port);
        if (protocol == kTcp) CPPUNIT_ASSERT_EQUAL(0, test::connect_error(kV4, port));
        CPPUNIT_ASSERT(opener.open(protocol, port).port != port);
      }
      CPPUNIT_ASSERT_EQUAL(port, opener.open(protocol, port).port);
    }
  }

  void a_preferred_port_outside_the_range_is_not_taken() {
    const PortRange range = free_range(3);
    const ProxySockets opened = opener(kV4, 1, range).open(kTcp, static_cast<std::uint16_t>(range.low - 1));
    CPPUNIT_ASSERT(opened.port >= range.low && opened.port <= range.high);
  }

  void a_range_is_used_up_without_holes() {
    const PortRange range = free_range(6);
    const lib::Fd foreign = test::bound(kV4, SOCK_STREAM, {}, static_cast<std::uint16_t>(range.low + 2));
    ProxyPortOpener opener = ProxyPortsTest::opener(kV4, 2, range);
    std::vector<ProxySockets> opened;
    for (int i = 0; i < 5; ++i) opened.push_back(opener.open(kTcp, 0));
    for (int i = 0; i < 6; ++i) opened.push_back(opener.open(kUdp, 0));
    for (const abi::Protocol protocol : {kTcp, kUdp}) {
      try {
        opener.open(protocol, 0);
        CPPUNIT_FAIL("it has more ports than there are");
      } catch (const sdk::Failure& failure) {
        CPPUNIT_ASSERT(failure.code() == abi::Code::kRetry);
        const std::string name = std::to_string(range.low) + "-" + std::to_string(range.high);
        CPPUNIT_ASSERT_EQUAL("all ports of --proxy-port-range " + name + " are in use; widen it",
                             std::string(failure.what()));
      }
    }
  }

  void the_beginning_of_a_range_is_random() {
    const PortRange range = free_range(8);
    std::set<std::uint16_t> begins;
    for (std::uint64_t seed = 0; seed < 32; ++seed) {
      begins.insert(ProxyPortOpener(kV4, test::loopback(kV4), range, 1, seed).open(kTcp, 0).port);
    }
    CPPUNIT_ASSERT(begins.size() > 4);
  }

  void a_full_range_is_searched_again_on_request() {
    ProxyPortOpener opener = ProxyPortsTest::opener(kV4, 1, free_range(1));
    std::vector<ProxySockets> opened;
    opened.push_back(opener.open(kTcp, 0));
    CPPUNIT_ASSERT_THROW(opener.open(kTcp, 0), sdk::Failure);
    opened.clear();
    CPPUNIT_ASSERT_THROW(opener.open(kTcp, 0), sdk::Failure);
    opener.search_again();
    opened.push_back(opener.open(kTcp, 0));
  }

  void an_address_not_on_this_node_is_reported() {
    ProxyPortOpener opener(kV4, *sdk::parse_address("192.0.2.1", kV4), {}, 1, 1);
    try {
      opener.open(kTcp, 0);
      CPPUNIT_FAIL("192.0.2.1 is an address of this machine");
    } catch (const sdk::Failure& failure) {
      CPPUNIT_ASSERT_EQUAL(std::string("bind 192.0.2.1:0 for a proxy port: not an address of this node; check "
                                       "bindAddress"),
                           std::string(failure.what()));
    }
  }

  void descriptors_are_reserved_for_connections() {
    struct Limit {
      Limit() { CPPUNIT_ASSERT_EQUAL(0, getrlimit(RLIMIT_NOFILE, &before)); }
      ~Limit() { setrlimit(RLIMIT_NOFILE, &before); }
      rlimit before{};
    } limit;
    const rlimit small{256, limit.before.rlim_max};
    CPPUNIT_ASSERT_EQUAL(0, setrlimit(RLIMIT_NOFILE, &small));
    ProxyPortOpener opener = ProxyPortsTest::opener();
    std::vector<ProxySockets> opened;
    std::string message;
    while (message.empty() && opened.size() < 256) {
      try {
        opened.push_back(opener.open(kUdp, 0));
      } catch (const sdk::Failure& failure) {
        CPPUNIT_ASSERT(failure.code() == abi::Code::kRetry);
        message = failure.what();
      }
    }
    CPPUNIT_ASSERT_EQUAL(std::string("too many open files for another listening socket: of the 256 file descriptors of "
                                     "this process, the last 64 are reserved for connections; raise its limit "
                                     "(LimitNOFILE)"),
                         message);
    // A group is opened completely or not at all.
    CPPUNIT_ASSERT(opened.back().sockets.size() == 4);
    const lib::Fd next(dup(opened.back().sockets.back().get()));
    CPPUNIT_ASSERT(next.get() <= 192);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ProxyPortsTest);

}  // namespace proxy_ports_test
}  // namespace sluice::userspace
