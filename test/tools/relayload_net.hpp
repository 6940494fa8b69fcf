// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Common parts of the commands of relayload: addresses, sockets, epoll, times. Errors are std::system_error.
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

// On an overloaded machine a short run may end before the first answer; it is extended by this time.
inline constexpr double kFirstPatience = 30;

// Raises the limit of open files to the maximum.
void raise_descriptor_limit();

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] int family() const { return storage.ss_family; }
};

// `text` is a numeric address of either family.
Address parse_address(const std::string& text, std::uint16_t port);

// The destination, and the source addresses, which are used in turn: one address has too few ports for the connections
// through a fast proxy within TIME_WAIT.
class Dialler {
 public:
  Dialler(const Address& target, const std::vector<std::string>& sources);

  // A non-blocking socket that is connecting (TCP) or connected (UDP); a negative errno on failure.
  int dial(int type);

 private:
  Address target_;
  std::vector<Address> sources_;
  std::size_t next_ = 0;
};

// A bound, non-blocking socket, listening if `type` is SOCK_STREAM.
int listen_on(const Address& address, int type);
// Sets the receive buffer of this UDP socket to several thousand datagrams, enough for some seconds in which the
// process waits for a processor. Needs CAP_NET_ADMIN.
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
  // Waits for at most this time; negative: forever. Returns an empty result after a signal.
  std::span<const epoll_event> wait(double seconds);

 private:
  int fd_;
  std::array<epoll_event, 512> events_{};
};

// Latencies of operations.
class Latencies {
 public:
  void add(double seconds) { seconds_.push_back(static_cast<float>(seconds)); }
  [[nodiscard]] std::size_t count() const { return seconds_.size(); }
  // Milliseconds, by the nearest rank; 0 if there are none.
  double percentile(double percent);

 private:
  std::vector<float> seconds_;
  bool sorted_ = false;
};

// Counts of failures.
class Failures {
 public:
  void add(int error) {
    if (count_++ == 0) first_ = error;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // The first failure as members of a JSON object, after `"failed"`.
  [[nodiscard]] std::string json() const;

 private:
  std::uint64_t count_ = 0;
  int first_ = 0;
};

// Parses a duration in seconds, such as 5 or 0.3. Throws netecho::UsageError.
double parse_seconds(const std::string& text);

}  // namespace relayload
