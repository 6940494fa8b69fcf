// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A client of a Unix socket that may behave badly. A wait ends with its event; the
// timeout is for a failing test.
#pragma once

#include <cppunit/TestAssert.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "lib/fd.hpp"
#include "test/unit/patience.hpp"

namespace sluice::test {

inline sockaddr_un unix_address(const std::string& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  CPPUNIT_ASSERT(path.size() < sizeof out.sun_path);
  std::memcpy(out.sun_path, path.data(), path.size());
  return out;
}

// A bound socket at a path that does not listen yet; the file outlives it.
inline lib::Fd bound_socket(const std::string& path) {
  lib::Fd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = unix_address(path);
  CPPUNIT_ASSERT_EQUAL(0, ::bind(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  return out;
}

class SocketPeer {
 public:
  explicit SocketPeer(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_un address = unix_address(path);
    CPPUNIT_ASSERT_EQUAL(0, ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  }

  // False when the other side has closed.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  void end_of_requests() { ::shutdown(fd_.get(), SHUT_WR); }

  // The next line without its newline; "closed" when the other side has closed.
  std::string line() {
    for (;;) {
      const auto end = input_.find('\n');
      if (end != std::string::npos) {
        std::string out = input_.substr(0, end);
        input_.erase(0, end + 1);
        return out;
      }
      wait(POLLIN);
      char buffer[4096];
      const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (n <= 0) return "closed";
      input_.append(buffer, static_cast<std::size_t>(n));
    }
  }
  std::string ask(std::string_view request) { return send(std::string(request) + "\n") ? line() : "closed"; }
  // Waits until the other side has closed, without reading anything.
  void wait_until_closed() { wait(0); }

 private:
  void wait(short events) {
    pollfd waits{fd_.get(), events, 0};
    CPPUNIT_ASSERT_MESSAGE("nothing happened",
                           ::poll(&waits, 1, stretched_milliseconds(std::chrono::seconds(20))) == 1);
  }

  lib::Fd fd_;
  std::string input_;
};

}  // namespace sluice::test
