// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sockets on the loopback and an engine between them, for tests of the TCP relay.
#pragma once

#include <cppunit/extensions/HelperMacros.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugins/userspace/relay/engine.hpp"
#include "test/unit/patience.hpp"

namespace sluice::userspace::rig {

using std::chrono::milliseconds;
using std::chrono::seconds;

using sluice::test::wait_until;

inline std::size_t open_descriptors() {
  DIR* const dir = opendir("/proc/self/fd");
  CPPUNIT_ASSERT(dir != nullptr);
  std::size_t count = 0;
  while (readdir(dir) != nullptr) ++count;
  closedir(dir);
  return count;
}

inline SocketAddress loopback(abi::Family family, std::uint16_t port) {
  abi::Address address{};
  if (family == abi::Family::kIpv6) {
    address.bytes[15] = 1;
  } else {
    address.bytes[0] = 127;
    address.bytes[3] = 1;
  }
  return SocketAddress(family, address, port);
}

inline abi::Family family_of(const SocketAddress& address) {
  return address.family() == AF_INET6 ? abi::Family::kIpv6 : abi::Family::kIpv4;
}

// The timeout of every wait. Does not depend on the load: reading that needs a file descriptor, and some tests leave
// none.
inline void set_patience(const lib::Fd& socket) {
  const timeval patience{static_cast<time_t>(60 * sluice::test::slowness()), 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

inline SocketAddress name_of(const lib::Fd& socket) {
  SocketAddress name;
  socklen_t size = SocketAddress::capacity();
  CPPUNIT_ASSERT_EQUAL(0, getsockname(socket.get(), name.get(), &size));
  return name;
}

inline lib::Fd new_socket(abi::Family family, int flags = 0) {
  lib::Fd socket(::socket(family == abi::Family::kIpv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  CPPUNIT_ASSERT(static_cast<bool>(socket));
  set_patience(socket);
  return socket;
}

inline lib::Fd listening(abi::Family family, int flags = 0, int backlog = 128) {
  lib::Fd socket = new_socket(family, flags);
  const SocketAddress any_port = loopback(family, 0);
  CPPUNIT_ASSERT_EQUAL(0, bind(socket.get(), any_port.get(), any_port.size()));
  CPPUNIT_ASSERT_EQUAL(0, listen(socket.get(), backlog));
  return socket;
}

inline lib::Fd accepted(const lib::Fd& upstream) {
  lib::Fd socket(accept4(upstream.get(), nullptr, nullptr, SOCK_CLOEXEC));
  CPPUNIT_ASSERT(static_cast<bool>(socket));
  set_patience(socket);
  return socket;
}

inline lib::Fd connected(const SocketAddress& where) {
  lib::Fd socket = new_socket(family_of(where));
  CPPUNIT_ASSERT_EQUAL(0, connect(socket.get(), where.get(), where.size()));
  return socket;
}

inline void write_all(const lib::Fd& socket, const std::string& text) {
  CPPUNIT_ASSERT_EQUAL(static_cast<ssize_t>(text.size()), send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL));
}

inline std::string read_exactly(const lib::Fd& socket, std::size_t size) {
  std::string text(size, '\0');
  const ssize_t n = size == 0 ? 0 : recv(socket.get(), text.data(), size, MSG_WAITALL);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

// 0 after the end of the stream, -1 if there is data, otherwise an errno.
inline int how_it_ended(const lib::Fd& socket) {
  char byte = 0;
  const ssize_t n = recv(socket.get(), &byte, 1, 0);
  return n > 0 ? -1 : n == 0 ? 0 : errno;
}

inline void reset(lib::Fd socket) {
  const linger at_once{1, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

// Has a full accept queue: a dial gets no answer.
class SilentEndpoint {
 public:
  explicit SilentEndpoint(abi::Family family = abi::Family::kIpv4) : upstream_(listening(family, 0, 0)) {
    const SocketAddress where = address();
    for (int i = 0; i < 8; ++i) {
      crowd_.push_back(new_socket(family, SOCK_NONBLOCK));
      CPPUNIT_ASSERT(connect(crowd_.back().get(), where.get(), where.size()) == 0 || errno == EINPROGRESS);
    }
  }
  SocketAddress address() const { return name_of(upstream_); }

 private:
  lib::Fd upstream_;
  std::vector<lib::Fd> crowd_;
};

// An address without listener.
inline SocketAddress dead_endpoint(abi::Family family = abi::Family::kIpv4) { return name_of(listening(family)); }

// An engine with one listener for the given endpoints.
class Relayed {
 public:
  explicit Relayed(const std::vector<SocketAddress>& endpoints, const RelaySettings& settings = one_thread(),
                   abi::Family family = abi::Family::kIpv4, bool sends_proxy_header = false)
      : relayed(std::make_shared<RelayedCount>(settings.threads, "", family)),
        listener(std::make_shared<Listener>("shop/cart:http", abi::Protocol::kTcp, family, ListenerKind::kCluster,
                                            BalancerSettings{}, 1, relayed)),
        engine(std::make_unique<Engine>(settings)) {
    listener->balancer().set_endpoints(endpoints);
    listener->set_sends_proxy_header(sends_proxy_header);
    lib::Fd upstream = listening(family, SOCK_NONBLOCK);
    front = name_of(upstream);
    std::vector<lib::Fd> sockets;
    sockets.push_back(std::move(upstream));
    id = engine->serve(std::move(sockets), listener);
  }

  static RelaySettings one_thread() {
    RelaySettings settings;
    settings.threads = 1;
    return settings;
  }

  std::uint64_t sum(Counter ThreadStatistics::*counter) const {
    std::uint64_t total = 0;
    for (const auto& statistics : engine->statistics()) total += ((*statistics).*counter).get();
    return total;
  }
  bool becomes(Counter ThreadStatistics::*counter, std::uint64_t value) const {
    return wait_until([&] { return sum(counter) == value; });
  }
  void replace_endpoints(const std::vector<SocketAddress>& endpoints) {
    engine->endpoints_gone(listener, listener->balancer().set_endpoints(endpoints).gone);
  }

  std::shared_ptr<RelayedCount> relayed;
  ListenerPtr listener;
  std::unique_ptr<Engine> engine;
  SocketAddress front;
  ServingId id = 0;
};

}  // namespace sluice::userspace::rig
