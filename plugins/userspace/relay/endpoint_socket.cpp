// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/endpoint_socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace sluice::userspace {

int set_mark(int socket, std::uint32_t mark) noexcept {
  return setsockopt(socket, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) == 0 ? 0 : errno;
}

int open_endpoint_socket(int family, int type, std::uint32_t mark, lib::Fd& out) noexcept {
  lib::Fd made(::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made) return errno;
  if (mark != 0) static_cast<void>(set_mark(made.get(), mark));
  out = std::move(made);
  return 0;
}

void acknowledge_with_data(int socket) noexcept {
  const int off = 0;
  setsockopt(socket, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof(off));
}

}  // namespace sluice::userspace
