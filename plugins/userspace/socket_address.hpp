// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// An IP address and port as a sockaddr. A value.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>

#include "sluice/abi/types.hpp"

namespace sluice::userspace {

class SocketAddress {
 public:
  SocketAddress() noexcept { std::memset(&storage_, 0, sizeof(storage_)); }
  SocketAddress(abi::Family family, const abi::Address& address, std::uint16_t port) noexcept : SocketAddress() {
    if (family == abi::Family::kIpv6) {
      storage_.v6.sin6_family = AF_INET6;
      storage_.v6.sin6_port = htons(port);
      std::memcpy(&storage_.v6.sin6_addr, address.bytes, sizeof(storage_.v6.sin6_addr));
    } else {
      storage_.v4.sin_family = AF_INET;
      storage_.v4.sin_port = htons(port);
      std::memcpy(&storage_.v4.sin_addr, address.bytes, sizeof(storage_.v4.sin_addr));
    }
  }

  int family() const noexcept { return storage_.any.sa_family; }
  const sockaddr* get() const noexcept { return &storage_.any; }
  // For system calls that fill it in; pass capacity() as the length.
  sockaddr* get() noexcept { return &storage_.any; }
  socklen_t size() const noexcept { return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }
  static constexpr socklen_t capacity() noexcept { return sizeof(Storage); }

  // As in the ABI: IPv4 in the first four bytes.
  abi::Address address() const noexcept {
    abi::Address out{};
    if (family() == AF_INET6) {
      std::memcpy(out.bytes, &storage_.v6.sin6_addr, 16);
    } else {
      std::memcpy(out.bytes, &storage_.v4.sin_addr, 4);
    }
    return out;
  }
  std::uint16_t port() const noexcept {
    return ntohs(family() == AF_INET6 ? storage_.v6.sin6_port : storage_.v4.sin_port);
  }

 private:
  union Storage {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
  };
  Storage storage_;
};

}  // namespace sluice::userspace
