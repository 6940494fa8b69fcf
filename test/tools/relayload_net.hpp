// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What all commands of relayload share: addresses, sockets, epoll, times. Errors are std::system_error.
#pragma once

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace relayload {

// Seconds of the monotonic clock.
double now();

// On a machine that is very busy a short run may be over before anything has come; it goes on that much longer.
inline constexpr double kFirstPatience = 30;

// The limit of open files, as high as this process may.
void raise_descriptor_limit();

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] int family() const { return storage.ss_family; }
};

// `text` is a numeric address of either family.
Address parse_address(const std::string& text, std::uint16_t port);

// Where to connect to, and the addresses to do it from, in turn: one address has too few ports for the connections that
// a fast proxy makes within a TIME_WAIT.
class Dialler {
 public:
  Dialler(const Address& target, const std::vector<std::string>& sources);

  // A non-blocking socket that is connecting (TCP) or connected (UDP); a negative errno when it cannot.
  int dial(int type);

 private:
  Address target_;
  std::vector<Address> sources_;
  std::size_t next_ = 0;
};

// Bound, non-blocking, listening when `type` is SOCK_STREAM.
int listen_on(const Address& address, int type);
// The receive buffer of this UDP socket holds several thousand datagrams: those of some seconds in which the process
// waits for a processor. Needs CAP_NET_ADMIN.
void keep_datagrams(int fd);

class Epoll {
 public:
  Epoll();
  ~Epoll();
  Epoll(const Epoll&) = delete;
  Epoll& operator=(const Epoll&) = delete;

  void add(int fd, std::uint32_t events, std::uint64_t tag);
  void modify(int fd, std::uint32_t events, std::uint64_t tag);
  void remove(int fd);
  // Waits for at most that long; a negative time: for ever. Empty when a signal came.
  std::span<const epoll_event> wait(double seconds);

 private:
  int fd_;
  std::array<epoll_event, 512> events_{};
};

// Times of single operations.
class Latencies {
 public:
  void add(double seconds) { seconds_.push_back(static_cast<float>(seconds)); }
  [[nodiscard]] std::size_t count() const { return seconds_.size(); }
  // Milliseconds, the nearest rank; 0 when there are none.
  double percentile(double percent);

 private:
  std::vector<float> seconds_;
  bool sorted_ = false;
};

// What went wrong, and how often.
class Failures {
 public:
  void add(int error) {
    if (count_++ == 0) first_ = error;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // The first one as members of a JSON object, after `"failed"`.
  [[nodiscard]] std::string json() const;

 private:
  std::uint64_t count_ = 0;
  int first_ = 0;
};

// A length of time on the command line, such as 5 or 0.3. Throws netecho::UsageError.
double parse_seconds(const std::string& text);

}  // namespace relayload
