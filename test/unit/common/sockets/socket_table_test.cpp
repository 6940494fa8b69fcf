// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Listeners of this node from /proc, compared with sockets of this process.
#include <arpa/inet.h>
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "plugins/common/sockets/socket_table.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::test {
namespace socket_table_test {

// A socket on 127.0.0.1 with a port of the kernel's choice.
class Bound {
 public:
  explicit Bound(int type) : fd_(socket(AF_INET, type | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CPPUNIT_ASSERT_EQUAL(0, bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)));
    socklen_t size = sizeof(address);
    CPPUNIT_ASSERT_EQUAL(0, getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size));
    port = ntohs(address.sin_port);
  }
  ~Bound() { close(fd_); }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;
  int get() const { return fd_; }

  std::uint16_t port = 0;

 private:
  int fd_;
};

class ListenersTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ListenersTest);
  CPPUNIT_TEST(listeners_are_found);
  CPPUNIT_TEST_SUITE_END();

  static bool listed(abi::Family family, abi::Protocol protocol, std::uint16_t port) {
    const abi::Address loopback = *sdk::parse_address("127.0.0.1", abi::Family::kIpv4);
    const auto all = sockets::listeners(family, protocol);
    return std::any_of(all.begin(), all.end(),
                       [&](const sockets::Listener& one) { return one.port == port && one.address == loopback; });
  }

  void listeners_are_found() {
    const Bound tcp(SOCK_STREAM);
    CPPUNIT_ASSERT_MESSAGE("bound is not listening", !listed(abi::Family::kIpv4, abi::Protocol::kTcp, tcp.port));
    CPPUNIT_ASSERT_EQUAL(0, listen(tcp.get(), 1));
    CPPUNIT_ASSERT(listed(abi::Family::kIpv4, abi::Protocol::kTcp, tcp.port));
    CPPUNIT_ASSERT(!listed(abi::Family::kIpv6, abi::Protocol::kTcp, tcp.port));
    const Bound udp(SOCK_DGRAM);
    CPPUNIT_ASSERT(listed(abi::Family::kIpv4, abi::Protocol::kUdp, udp.port));
    CPPUNIT_ASSERT(sockets::listeners(abi::Family::kIpv4, abi::Protocol::kSctp).empty());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ListenersTest);

}  // namespace socket_table_test
}  // namespace sluice::test
