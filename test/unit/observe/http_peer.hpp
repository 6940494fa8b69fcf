// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A client of an HTTP server on a loopback address that may behave badly, and ports to
// serve on. A wait ends with its event; the timeout is for a failing test.
#pragma once

#include <arpa/inet.h>
#include <cppunit/TestAssert.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "lib/fd.hpp"
#include "lib/ip.hpp"
#include "test/unit/patience.hpp"

namespace sluice::test {

using lib::Family;
using lib::IpAddress;

inline IpAddress address(const std::string& text) { return *IpAddress::parse(text); }

struct RawAddress {
  RawAddress(const IpAddress& ip, std::uint16_t port) {
    if (ip.family() == Family::ipv4) {
      auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
      v4->sin_family = AF_INET;
      v4->sin_port = htons(port);
      std::memcpy(&v4->sin_addr, ip.bytes().data(), 4);
      size = sizeof *v4;
    } else {
      auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
      v6->sin6_family = AF_INET6;
      v6->sin6_port = htons(port);
      std::memcpy(&v6->sin6_addr, ip.bytes().data(), 16);
      size = sizeof *v6;
    }
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr_storage storage{};
  socklen_t size = 0;
};

inline lib::Fd tcp_socket(Family family) {
  return lib::Fd(::socket(family == Family::ipv4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

inline bool loopback_works(Family family) {
  const RawAddress at(IpAddress::loopback(family), 0);
  return ::bind(tcp_socket(family).get(), at.get(), at.size) == 0;
}

// A port in use until this object is destroyed.
struct HeldPort {
  explicit HeldPort(const IpAddress& ip = address("127.0.0.1"), std::uint16_t wanted = 0) {
    const RawAddress at(ip, wanted);
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    CPPUNIT_ASSERT_EQUAL(0, ::bind(fd.get(), at.get(), at.size));
    CPPUNIT_ASSERT_EQUAL(0, ::listen(fd.get(), 1));
    sockaddr_in bound{};
    socklen_t size = sizeof bound;
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
    port = ntohs(bound.sin_port);
  }
  lib::Fd fd = tcp_socket(Family::ipv4);
  std::uint16_t port = 0;
};

inline std::uint16_t free_port() { return HeldPort().port; }

class HttpPeer {
 public:
  explicit HttpPeer(std::uint16_t port, const IpAddress& ip = address("127.0.0.1")) : fd_(tcp_socket(ip.family())) {
    const RawAddress at(ip, port);
    connected_ = ::connect(fd_.get(), at.get(), at.size) == 0;
  }
  bool connected() const { return connected_; }

  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  // One answer: header and as many bytes of body as it announces.
  std::string answer(bool head = false) {
    while (input_.find("\r\n\r\n") == std::string::npos) {
      if (!receive()) return "closed";
    }
    const std::size_t header = input_.find("\r\n\r\n") + 4;
    const std::size_t length = input_.find("Content-Length: ");
    CPPUNIT_ASSERT(length < header);
    const std::size_t size = header + (head ? 0 : std::stoul(input_.substr(length + 16)));
    while (input_.size() < size) {
      if (!receive()) return "closed";
    }
    const std::string out = input_.substr(0, size);
    input_.erase(0, size);
    return out;
  }
  std::string get(const std::string& path = "/") {
    send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return answer();
  }
  bool closed_by_server() { return !receive(); }

 private:
  bool receive() {
    pollfd waits{fd_.get(), POLLIN, 0};
    CPPUNIT_ASSERT_MESSAGE("nothing happened",
                           ::poll(&waits, 1, stretched_milliseconds(std::chrono::seconds(20))) == 1);
    char buffer[4096];
    const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    if (n <= 0) return false;
    input_.append(buffer, static_cast<std::size_t>(n));
    return true;
  }

  lib::Fd fd_;
  bool connected_ = false;
  std::string input_;
};

inline std::string ask(std::uint16_t port, const std::string& path = "/", const IpAddress& ip = address("127.0.0.1")) {
  HttpPeer client(port, ip);
  return client.connected() ? client.get(path) : "refused";
}

inline bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
inline std::string status(const std::string& answer) {
  return holds(answer, "HTTP/1.1 ") ? answer.substr(9, 3) : answer;
}

}  // namespace sluice::test
