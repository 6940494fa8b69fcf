// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A descriptor holder in a thread of the test, and a client that speaks its protocol.
#pragma once

#include <cppunit/TestAssert.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/lifecycle/holder_server.hpp"
#include "test/unit/patience.hpp"

namespace sluice::lifecycle {

inline lib::Fd a_socket() { return lib::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

// Identifies an open file.
inline ino_t identity(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? info.st_ino : 0;
}

class HolderClient {
 public:
  explicit HolderClient(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const auto address = holding::address_of(path);
    connected_ = ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0;
    const auto limit = std::chrono::ceil<std::chrono::seconds>(test::stretched(std::chrono::seconds(20)));
    const timeval time{static_cast<time_t>(limit.count()), 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  }
  bool connected() const { return connected_; }
  int socket() const { return socket_.get(); }

  void send(const holding::Message& message, int fd = -1) { send_bytes(holding::encode(message), fd); }
  void send_bytes(const std::string& bytes, int fd = -1) {
    CPPUNIT_ASSERT_EQUAL(0, holding::send(socket_.get(), bytes, fd));
  }
  // Fails the test if there is none.
  holding::Message receive() {
    holding::Message out;
    bool lost_fd = false;
    CPPUNIT_ASSERT(holding::receive(socket_.get(), out, lost_fd, 0) == holding::Received::message);
    return out;
  }
  bool at_end() {
    holding::Message out;
    bool lost_fd = false;
    return holding::receive(socket_.get(), out, lost_fd, 0) == holding::Received::end;
  }
  // The number of descriptors that the holder has.
  std::uint32_t hello(std::uint32_t timeout = 60'000) {
    holding::Message message{.type = holding::Type::hello};
    message.number = timeout;
    send(message);
    const auto reply = receive();
    CPPUNIT_ASSERT(reply.type == holding::Type::hello);
    return reply.number;
  }
  void store(const std::string& name, int fd) { send({.type = holding::Type::store, .text = name}, fd); }
  void remove(const std::string& name) { send({.type = holding::Type::remove, .text = name}); }
  std::map<std::string, lib::Fd> take() {
    send({.type = holding::Type::give});
    std::map<std::string, lib::Fd> out;
    for (;;) {
      auto message = receive();
      if (message.type == holding::Type::done) {
        CPPUNIT_ASSERT_EQUAL(out.size(), std::size_t{message.number});
        return out;
      }
      CPPUNIT_ASSERT(message.type == holding::Type::descriptor && message.fd.valid());
      out[message.text] = std::move(message.fd);
    }
  }

 private:
  lib::Fd socket_;
  bool connected_ = false;
};

class RunningHolder {
 public:
  explicit RunningHolder(HolderServer::Options options) : path_(options.path), server_(std::move(options)) {
    CPPUNIT_ASSERT(server_.listen().ok());
    thread_ = std::thread([this] {
      server_.run();
      ended_ = true;
    });
  }
  // With the socket at `path`, a minute, and this user.
  explicit RunningHolder(const std::string& path)
      : RunningHolder(HolderServer::Options{
            .path = path, .timeout = std::chrono::minutes(1), .users = {::geteuid()}}) {}
  ~RunningHolder() {
    if (!ended_) end();
    thread_.join();
  }
  RunningHolder(const RunningHolder&) = delete;
  RunningHolder& operator=(const RunningHolder&) = delete;

  bool ended() const { return ended_; }
  bool wait_ended() const {
    return test::wait_until([this] { return ended(); });
  }

 private:
  // A holder that another one replaced, or that rejects this user, ends by its timeout.
  void end() {
    const HolderClient client(path_);
    if (client.connected()) holding::send(client.socket(), holding::encode({.type = holding::Type::end}), -1);
  }

  const std::string path_;
  HolderServer server_;
  std::thread thread_;
  std::atomic<bool> ended_{false};
};

}  // namespace sluice::lifecycle
