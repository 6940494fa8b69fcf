// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Addresses and sockets for netecho: owning descriptor, numeric addresses, protocols.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace netecho {

enum class Protocol { tcp, udp, sctp };

[[nodiscard]] Protocol parse_protocol(std::string_view text);

class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool valid() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] int family() const { return storage.ss_family; }
  [[nodiscard]] std::string ip() const;
  [[nodiscard]] std::uint16_t port() const;
  void set_port(std::uint16_t port);
  [[nodiscard]] const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] sockaddr* raw() { return reinterpret_cast<sockaddr*>(&storage); }
};

// Throws UsageError if `ip` is not a numeric address of either family.
[[nodiscard]] Address make_address(const std::string& ip, std::uint16_t port);

// "IP", "IPv4:PORT" or "[IPv6]:PORT"; the port is 0 if it is omitted.
[[nodiscard]] Address parse_source(const std::string& text);

[[nodiscard]] Address peer_of(int socket);
[[nodiscard]] Address local_of(int socket);

// A non-blocking, close-on-exec socket; an invalid Fd with errno set if the kernel does not support the protocol.
[[nodiscard]] Fd open_socket(int family, Protocol protocol);

}  // namespace netecho
