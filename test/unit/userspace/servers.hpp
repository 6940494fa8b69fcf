// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Endpoints and clients on the loopback.
#pragma once

#include <cppunit/TestAssert.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/common/world.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/userspace/sockets.hpp"

namespace sluice::test {

// An endpoint that sends its letter to every client.
class Server {
 public:
  Server(char letter, int type) : letter_(letter), type_(type) {
    socket_ = bound(abi::Family::kIpv4, type, loopback(abi::Family::kIpv4), 0);
    if (type == SOCK_STREAM) CPPUNIT_ASSERT_EQUAL(0, listen(socket_.get(), 16));
  }
  std::uint16_t port() const { return port_of(socket_); }
  // Serves one client, if it connects in time.
  void serve_one() const {
    pollfd wait{socket_.get(), POLLIN, 0};
    if (poll(&wait, 1, stretched_milliseconds(std::chrono::seconds(10))) != 1) return;
    userspace::SocketAddress client;
    socklen_t size = userspace::SocketAddress::capacity();
    if (type_ == SOCK_STREAM) {
      const lib::Fd connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      CPPUNIT_ASSERT_EQUAL(ssize_t{1}, send(connection.get(), &letter_, 1, MSG_NOSIGNAL));
      return;
    }
    char question = 0;
    CPPUNIT_ASSERT(recvfrom(socket_.get(), &question, 1, 0, client.get(), &size) == 1);
    last_client_ = client;
    send_again();
  }
  // UDP: sends its letter to the last client again.
  void send_again() const {
    CPPUNIT_ASSERT_EQUAL(ssize_t{1},
                         sendto(socket_.get(), &letter_, 1, 0, last_client_.get(), last_client_.size()));
  }
  // The port of the last client; UDP only.
  std::uint16_t last_client() const { return last_client_.port(); }
  EndpointSpec endpoint(bool local = false) const { return {"127.0.0.1", port(), local, Condition::kReady}; }

 private:
  char letter_;
  int type_;
  lib::Fd socket_;
  mutable userspace::SocketAddress last_client_;
};

// The letter a client receives while `server` serves; '-' if the connection is closed.
inline char ask_again(const lib::Fd& client, int type, const Server* server) {
  if (type == SOCK_DGRAM) CPPUNIT_ASSERT_EQUAL(ssize_t{1}, send(client.get(), "?", 1, 0));
  if (server != nullptr) server->serve_one();
  pollfd wait{client.get(), POLLIN, 0};
  char answer = '-';
  if (poll(&wait, 1, stretched_milliseconds(std::chrono::seconds(10))) != 1 || recv(client.get(), &answer, 1, 0) != 1) return '-';
  return answer;
}

// The same for a new client of the proxy port; '-' also if the connection is refused.
inline char ask(std::uint16_t proxy_port, int type, const Server* server) {
  const lib::Fd client(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  const userspace::SocketAddress to(abi::Family::kIpv4, loopback(abi::Family::kIpv4), proxy_port);
  if (connect(client.get(), to.get(), to.size()) != 0) return '-';
  return ask_again(client, type, server);
}

// An endpoint that refuses.
inline const EndpointSpec kRefusing{"127.0.0.1", 9, false, Condition::kReady};

inline ServiceSpec named(const std::string& name, std::vector<EndpointSpec> endpoints = {kRefusing}) {
  ServiceSpec spec;
  spec.name = name;
  spec.cluster_ip = "172.30.0." + std::to_string(name.back());
  spec.endpoints = std::move(endpoints);
  return spec;
}

}  // namespace sluice::test
