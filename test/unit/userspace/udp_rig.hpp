// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What tests of the UDP relay stand on: sockets of clients and endpoints that the test
// itself reads and answers from, so that each step is waited for, and a relay on a thread.
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

// Milliseconds in which a datagram must come.
inline int patience() { return sluice::test::stretched_milliseconds(std::chrono::seconds(20)); }
// After so much silence a client is forgotten. More than an answer takes on a busy machine: a client that is forgotten
// gets none.
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
  explicit Peer(Descriptor socket) : socket_(std::move(socket)) {}

  static Descriptor open(const SocketAddress& where) {
    Descriptor fd(socket(where.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    CPPUNIT_ASSERT(fd);
    const int room = 1 << 20;
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    CPPUNIT_ASSERT_EQUAL(0, bind(fd.get(), where.get(), where.size()));
    return fd;
  }
  // A port that was asked for by its number stays when disconnect() is called, one that the kernel chose does not.
  static Descriptor open_fixed(const SocketAddress& where) {
    for (;;) {
      SocketAddress name = name_of(open(where).get());
      Descriptor fd(socket(where.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
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

  // Hears that one only from now on; to everybody else its port is closed.
  void connect(const SocketAddress& to) { CPPUNIT_ASSERT_EQUAL(0, ::connect(socket_.get(), to.get(), to.size())); }
  void disconnect() {
    sockaddr nobody{};
    nobody.sa_family = AF_UNSPEC;
    const SocketAddress here = name();
    CPPUNIT_ASSERT_EQUAL(0, ::connect(socket_.get(), &nobody, sizeof(nobody)));
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
  // Answers one, with what it says and a tail. Returns where it came from.
  SocketAddress answer(const std::string& tail) {
    SocketAddress from;
    const std::string said = receive(&from);
    send(from, said + tail);
    return from;
  }

 private:
  Descriptor socket_;
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
  // Until it is released, nothing happens there.
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

  // Where the face listens.
  SocketAddress serve(ServingId id, const FacePtr& face, const std::string& address) {
    Descriptor socket = Peer::open(at(address));
    const SocketAddress name = Peer::name_of(socket.get());
    int result = -1;
    do_there([&] { result = relay_->serve(id, std::move(socket), face); });
    CPPUNIT_ASSERT_EQUAL(0, result);
    return name;
  }
  // `then` comes at once, before anything else there.
  void stop(
      ServingId id, const std::function<void()>& then = [] {}) {
    do_there([&] {
      relay_->stop(id);
      then();
    });
  }
  // `before` comes at once before it.
  void last_call(ServingId id, const std::function<void()>& before) {
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

inline FacePtr face_of(const std::vector<SocketAddress>& endpoints) {
  BalancerSettings settings;
  settings.outliers.failures = 0;
  auto face =
      std::make_shared<Face>("shop/dns", abi::Protocol::kUdp, abi::Family::kIpv4, FaceKind::kCluster, settings, 1);
  face->balancer().set_endpoints(endpoints);
  return face;
}

}  // namespace sluice::userspace::rig
