// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The mark of packets from the relay to endpoints.
#include "plugins/common/netfilter/relay_mark.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <dirent.h>
#include <linux/capability.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "plugins/userspace/probe.hpp"
#include "plugins/userspace/relay/endpoint_socket.hpp"
#include "sluice/sdk/error.hpp"
#include "test/unit/skip.hpp"
#include "test/unit/userspace/backend_rig.hpp"
#include "test/unit/userspace/servers.hpp"

namespace sluice::userspace {
namespace relay_mark_test {

using test::NodeSpec;
using test::ServiceSpec;

constexpr abi::Family kV4 = abi::Family::kIpv4;
constexpr std::uint32_t kFirst = 0x1000;
constexpr std::uint32_t kSecond = 0x40;

std::uint32_t mark_of(int socket) {
  std::uint32_t mark = 0;
  socklen_t size = sizeof(mark);
  CPPUNIT_ASSERT_EQUAL(0, getsockopt(socket, SOL_SOCKET, SO_MARK, &mark, &size));
  return mark;
}

std::uint16_t peer_of(int socket) {
  SocketAddress address;
  socklen_t size = SocketAddress::capacity();
  return getpeername(socket, address.get(), &size) == 0 ? address.port() : std::uint16_t{0};
}

// The mark of a socket of this process that is connected to the port.
std::uint32_t mark_towards(std::uint16_t port) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  CPPUNIT_ASSERT(folder != nullptr);
  while (const dirent* entry = readdir(folder.get())) {
    const int fd = std::atoi(entry->d_name);
    if (peer_of(fd) == port) return mark_of(fd);
  }
  CPPUNIT_FAIL("no socket is connected to the endpoint");
  return 0;
}

// Drops all capabilities of this thread, as in a daemon without privileges.
void drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  CPPUNIT_ASSERT_EQUAL(0L, syscall(SYS_capset, &header, none));
}

bool can_mark() {
  lib::Fd socket;
  CPPUNIT_ASSERT_EQUAL(0, open_endpoint_socket(AF_INET, SOCK_DGRAM, 0, socket));
  return set_mark(socket.get(), kFirst) == 0;
}

bool may_mark() {
  if (can_mark()) return true;
  test::skip("marking packets needs CAP_NET_ADMIN");
  return false;
}

class RelayMarkTest : public test::UserspaceFixture {
  CPPUNIT_TEST_SUITE(RelayMarkTest);
  CPPUNIT_TEST(the_relay_mark_shares_no_bit_with_the_masquerade_mark);
  CPPUNIT_TEST(sockets_of_each_kind_are_marked);
  CPPUNIT_TEST(without_the_privilege_sockets_work_and_the_probe_names_the_remedy);
  CPPUNIT_TEST(relayed_packets_are_marked);
  CPPUNIT_TEST(the_mark_follows_the_masquerade_mark_without_gap);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    UserspaceFixture::setUp();
    rig().settings.relay.udp_timeout = std::chrono::minutes(10);
  }

 private:
  void the_relay_mark_shares_no_bit_with_the_masquerade_mark() {
    for (int bit = 0; bit < 32; ++bit) {
      const std::uint32_t masquerade = std::uint32_t{1} << bit;
      const std::uint32_t mark = netfilter::relay_mark(masquerade);
      CPPUNIT_ASSERT_EQUAL(masquerade == kFirst ? kSecond : kFirst, mark);
      CPPUNIT_ASSERT_EQUAL(std::uint32_t{0}, mark & masquerade);
    }
  }

  void sockets_of_each_kind_are_marked() {
    if (!may_mark()) return;
    for (const int family : {AF_INET, AF_INET6}) {
      if (family == AF_INET6 && !test::has_ipv6()) continue;
      for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
        lib::Fd socket;
        CPPUNIT_ASSERT_EQUAL(0, open_endpoint_socket(family, type, kSecond, socket));
        CPPUNIT_ASSERT_EQUAL(kSecond, mark_of(socket.get()));
      }
    }
  }

  void without_the_privilege_sockets_work_and_the_probe_names_the_remedy() {
    int opened = -1;
    abi::Code code = abi::Code::kOk;
    std::string text;
    std::thread([&] {
      drop_capabilities();
      lib::Fd socket;
      opened = open_endpoint_socket(AF_INET, SOCK_STREAM, kFirst, socket);
      try {
        probe_socket_mark(kV4);
      } catch (const sdk::Failure& failure) {
        code = failure.code();
        text = failure.what();
      }
    }).join();
    CPPUNIT_ASSERT_EQUAL(0, opened);
    CPPUNIT_ASSERT(code == abi::Code::kDenied);
    CPPUNIT_ASSERT_EQUAL(std::string("cannot mark the packets of a socket (SO_MARK): Operation not permitted; run the "
                                     "daemon with the capability CAP_NET_ADMIN"),
                         text);
    if (can_mark()) probe_socket_mark(kV4);
  }

  // Opens a connection through the proxy and returns the mark of the relay's socket to the endpoint.
  static std::uint32_t mark_of_next(std::uint16_t proxy_port, const lib::Fd& endpoint) {
    const lib::Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const SocketAddress to(kV4, test::loopback(kV4), proxy_port);
    CPPUNIT_ASSERT_EQUAL(0, connect(client.get(), to.get(), to.size()));
    const lib::Fd accepted(accept4(endpoint.get(), nullptr, nullptr, SOCK_CLOEXEC));
    CPPUNIT_ASSERT(accepted);
    const std::uint16_t relays = peer_of(accepted.get());
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
    CPPUNIT_ASSERT(folder != nullptr);
    while (const dirent* entry = readdir(folder.get())) {
      const int fd = std::atoi(entry->d_name);
      SocketAddress own;
      socklen_t size = SocketAddress::capacity();
      if (peer_of(fd) != test::port_of(endpoint) || getsockname(fd, own.get(), &size) != 0) continue;
      if (own.port() == relays) return mark_of(fd);
    }
    CPPUNIT_FAIL("the relay has no socket that is connected to the endpoint");
    return 0;
  }

  static lib::Fd listening() {
    lib::Fd socket = test::bound(kV4, SOCK_STREAM, test::loopback(kV4), 0);
    CPPUNIT_ASSERT_EQUAL(0, listen(socket.get(), 16));
    return socket;
  }
  static ServiceSpec service(const std::string& name, const lib::Fd& endpoint) {
    return test::named(name, {{"127.0.0.1", test::port_of(endpoint), false, test::Condition::kReady}});
  }

  void relayed_packets_are_marked() {
    if (!may_mark()) return;
    const lib::Fd endpoint = listening();
    const test::Server server('a', SOCK_DGRAM);
    ServiceSpec udp = test::named("svc2", {server.endpoint()});
    udp.protocol = abi::Protocol::kUdp;
    CPPUNIT_ASSERT(rig().full({service("svc1", endpoint), udp}) == abi::Code::kOk);
    CPPUNIT_ASSERT_EQUAL(kFirst, mark_of_next(rig().port("ns1/svc1"), endpoint));
    CPPUNIT_ASSERT_EQUAL('a', test::ask(rig().port("ns1/svc2"), SOCK_DGRAM, &server));
    CPPUNIT_ASSERT_EQUAL(kFirst, mark_towards(server.port()));
  }

  void the_mark_follows_the_masquerade_mark_without_gap() {
    if (!may_mark()) return;
    const lib::Fd endpoint = listening();
    CPPUNIT_ASSERT(rig().full({service("svc1", endpoint)}) == abi::Code::kOk);
    const std::uint16_t port = rig().port("ns1/svc1");
    CPPUNIT_ASSERT_EQUAL(kFirst, mark_of_next(port, endpoint));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig().rules("KUBE-", "! --mark 0x00001000/0x00001000"));
    NodeSpec moved;
    moved.mark = kFirst;
    CPPUNIT_ASSERT(rig().delta({}, {}, moved) == abi::Code::kNeedFull);
    std::uint32_t meanwhile = 0;
    rig().kernel.before_restore = [&](const std::string&) { meanwhile = mark_of_next(port, endpoint); };
    CPPUNIT_ASSERT(rig().full({service("svc1", endpoint)}, moved) == abi::Code::kOk);
    rig().kernel.before_restore = nullptr;
    CPPUNIT_ASSERT_EQUAL(kFirst | kSecond, meanwhile);
    CPPUNIT_ASSERT_EQUAL(kSecond, mark_of_next(port, endpoint));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig().rules("KUBE-", "! --mark 0x00000040/0x00000040"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig().rules("KUBE-", "! --mark"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RelayMarkTest);

}  // namespace relay_mark_test
}  // namespace sluice::userspace
