// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// For tests of the UDP relay: a relay on a thread, and sockets of clients and endpoints that the test
// reads and writes itself, so that it can wait for each step.
#pragma once

#include <arpa/inet.h>
#include <cppunit/TestAssert.h>
#include <dirent.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plugins/userspace/relay/udp_relay.hpp"
#include "test/unit/patience.hpp"

namespace sluice::userspace::rig {

using sluice::test::wait_until;

// Milliseconds in which a datagram must arrive.
inline int patience() { return sluice::test::stretched_milliseconds(std::chrono::seconds(20)); }
// UDP timeout of the relay. Longer than a reply takes on a busy machine, since an expired client gets none.
inline std::chrono::milliseconds flow_time() {
  return sluice::test::stretched_at_most(std::chrono::seconds(1), std::chrono::seconds(5));
}
inline constexpr auto kNever = std::chrono::hours(1);

inline SocketAddress at(const std::string& address, std::uint16_t port = 0) {
  abi::Address bytes{};
  const bool v6 = address.find(':') != std::string::npos;
  CPPUNIT_ASSERT_EQUAL(1, inet_pton(v6 ? AF_INET6 : AF_INET, address.c_str(), bytes.bytes));
  return SocketAddress(v6 ? abi::Family::kIpv6 : abi::Family::kIpv4, bytes, port);
}

inline std::string text(const SocketAddress& address) {
  char out[INET6_ADDRSTRLEN];
  inet_ntop(address.family(), address.address().bytes, out, sizeof(out));
  return out;
}

// A bound socket of a client or an endpoint.
class Peer {
 public:
  explicit Peer(const std::string& address) : socket_(open(at(address))) {}
  explicit Peer(lib::Fd socket) : socket_(std::move(socket)) {}

  static lib::Fd open(const SocketAddress& where) {
    lib::Fd fd(socket(where.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    CPPUNIT_ASSERT(fd);
    const int room = 1 << 20;
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    CPPUNIT_ASSERT_EQUAL(0, bind(fd.get(), where.get(), where.size()));
    return fd;
  }
  // disconnect() keeps a port that was bound by number, but not one that the kernel chose.
  static lib::Fd open_fixed(const SocketAddress& where) {
    for (;;) {
      SocketAddress name = name_of(open(where).get());
      lib::Fd fd(socket(where.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      if (bind(fd.get(), name.get(), name.size()) == 0) return fd;
    }
  }
  static SocketAddress name_of(int fd) {
    SocketAddress name;
    socklen_t size = SocketAddress::capacity();
    CPPUNIT_ASSERT_EQUAL(0, getsockname(fd, name.get(), &size));
    return name;
  }

  SocketAddress name() const { return name_of(socket_.get()); }
  std::uint16_t port() const { return name().port(); }

  // Receives only from this peer from now on; for all others the port is closed.
  void connect(const SocketAddress& to) { CPPUNIT_ASSERT_EQUAL(0, ::connect(socket_.get(), to.get(), to.size())); }
  void disconnect() {
    sockaddr unspecified{};
    unspecified.sa_family = AF_UNSPEC;
    const SocketAddress here = name();
    CPPUNIT_ASSERT_EQUAL(0, ::connect(socket_.get(), &unspecified, sizeof(unspecified)));
    CPPUNIT_ASSERT_EQUAL(here.port(), port());
  }
  void send(const SocketAddress& to, const std::string& what) {
    CPPUNIT_ASSERT_EQUAL(static_cast<ssize_t>(what.size()),
                         sendto(socket_.get(), what.data(), what.size(), 0, to.get(), to.size()));
  }
  bool has_datagram(int timeout) const {
    pollfd waiting{socket_.get(), POLLIN, 0};
    return poll(&waiting, 1, timeout) == 1 && (waiting.revents & POLLIN) != 0;
  }
  std::string receive(SocketAddress* from = nullptr) {
    CPPUNIT_ASSERT_MESSAGE("nothing came", has_datagram(patience()));
    std::string out(70'000, ' ');
    SocketAddress name;
    socklen_t size = SocketAddress::capacity();
    const ssize_t got = recvfrom(socket_.get(), out.data(), out.size(), 0, name.get(), &size);
    CPPUNIT_ASSERT(got >= 0);
    if (from != nullptr) *from = name;
    out.resize(static_cast<std::size_t>(got));
    return out;
  }
  // Answers one datagram with its content and `tail`. Returns its source.
  SocketAddress answer(const std::string& tail) {
    SocketAddress from;
    const std::string payload = receive(&from);
    send(from, payload + tail);
    return from;
  }

 private:
  lib::Fd socket_;
};

inline std::size_t descriptors() {
  DIR* const dir = opendir("/proc/self/fd");
  std::size_t count = 0;
  while (readdir(dir) != nullptr) ++count;
  closedir(dir);
  return count;
}

// A relay on a thread of its own.
class Rig {
 public:
  explicit Rig(std::chrono::milliseconds timeout = kNever, std::size_t max_clients = 1000) {
    RelaySettings settings;
    settings.udp_timeout = timeout;
    relay_ = std::make_unique<UdpRelay>(loop_, settings, max_clients, statistics);
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Rig() {
    do_there([this] { relay_.reset(); });
    loop_.stop();
    thread_.join();
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  void do_there(const std::function<void()>& work) {
    std::promise<void> done;
    loop_.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  // Blocks the relay thread until released.
  std::promise<void> hold() {
    auto entered = std::make_shared<std::promise<void>>();
    std::promise<void> release;
    loop_.post([entered, until = std::make_shared<std::future<void>>(release.get_future())] {
      entered->set_value();
      until->wait();
    });
    entered->get_future().wait();
    return release;
  }

  // Returns the address of the service.
  SocketAddress serve(ServingId id, const ListenerPtr& listener, const std::string& address) {
    lib::Fd socket = Peer::open(at(address));
    const SocketAddress name = Peer::name_of(socket.get());
    int result = -1;
    do_there([&] { result = relay_->serve(id, std::move(socket), listener); });
    CPPUNIT_ASSERT_EQUAL(0, result);
    return name;
  }
  // Runs `then` directly afterwards on the relay thread.
  void stop(
      ServingId id, const std::function<void()>& then = [] {}) {
    do_there([&] {
      relay_->stop(id);
      then();
    });
  }
  // Runs `before` directly before on the relay thread.
  void stop_and_drain(ServingId id, const std::function<void()>& before) {
    do_there([&] {
      before();
      relay_->stop(id, true);
    });
  }
  void endpoints_gone(const std::vector<EndpointPtr>& gone) {
    do_there([&] { relay_->endpoints_gone(gone); });
  }

  ThreadStatistics statistics;

 private:
  EventLoop loop_;
  std::unique_ptr<UdpRelay> relay_;
  std::thread thread_;
};

inline ListenerPtr listener_of(const std::vector<SocketAddress>& endpoints) {
  BalancerSettings settings;
  settings.outliers.failures = 0;
  auto listener = std::make_shared<Listener>("shop/dns", abi::Protocol::kUdp, abi::Family::kIpv4,
                                             ListenerKind::kCluster, settings, 1);
  listener->balancer().set_endpoints(endpoints);
  return listener;
}

}  // namespace sluice::userspace::rig
