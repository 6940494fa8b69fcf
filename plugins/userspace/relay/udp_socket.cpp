// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/udp_socket.hpp"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "plugins/userspace/relay/endpoint_socket.hpp"

namespace sluice::userspace {
namespace {

constexpr int kServiceBuffer = 4 << 20;
constexpr int kMostErrors = 64;  // per call; a later call takes the rest

void set_buffer(int fd, int force, int ordinary) noexcept {
  if (setsockopt(fd, SOL_SOCKET, force, &kServiceBuffer, sizeof(kServiceBuffer)) == 0) return;
  // Without CAP_NET_ADMIN: as much as net.core.[rw]mem_max allows, but never less than before.
  int now = 0;
  socklen_t size = sizeof(now);
  if (getsockopt(fd, SOL_SOCKET, ordinary, &now, &size) == 0 && now >= 2 * kServiceBuffer) return;
  setsockopt(fd, SOL_SOCKET, ordinary, &kServiceBuffer, sizeof(kServiceBuffer));
}

int error_of(msghdr& header) noexcept {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if ((part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_RECVERR) ||
        (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_RECVERR)) {
      sock_extended_err error;
      std::memcpy(&error, CMSG_DATA(part), sizeof(error));
      return static_cast<int>(error.ee_errno);
    }
  }
  return 0;
}

}  // namespace

void prepare_udp_service_socket(int fd) noexcept {
  set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF);
  set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF);
  const int on = 1;
  // One of these fails, depending on the address family.
  setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
  setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on));
}

int open_udp_socket(int family, std::uint32_t mark, lib::Fd& out) noexcept {
  lib::Fd fd;
  if (const int failure = open_endpoint_socket(family, SOCK_DGRAM, mark, fd); failure != 0) return failure;
  // Without IP_RECVERR the kernel does not report unreachable hosts.
  const int on = 1;
  if (family == AF_INET6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
  } else {
    setsockopt(fd.get(), IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
  }
  out = std::move(fd);
  return 0;
}

int connect_udp(const SocketAddress& target, std::uint32_t mark, lib::Fd& out) noexcept {
  lib::Fd fd;
  if (const int failure = open_udp_socket(target.family(), mark, fd); failure != 0) return failure;
  if (connect(fd.get(), target.get(), target.size()) != 0) return errno;
  out = std::move(fd);
  return 0;
}

int take_udp_error(int fd) noexcept {
  int found = 0;
  bool any = false;
  for (int i = 0; i < kMostErrors; ++i) {
    std::array<char, 16> quoted;
    alignas(cmsghdr) std::array<char, 256> control;
    iovec vector{quoted.data(), quoted.size()};
    msghdr header{};
    header.msg_iov = &vector;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    if (recvmsg(fd, &header, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) break;
    any = true;
    // A smaller path MTU: the kernel has stored it, and fragments later datagrams accordingly.
    if (const int error = error_of(header); error != EMSGSIZE) found = error;
  }
  if (any) return found;
  socklen_t size = sizeof(found);
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &found, &size) != 0) return 0;
  return found == EMSGSIZE ? 0 : found;
}

UdpFault udp_fault(int error) noexcept {
  switch (error) {
    case EAGAIN:
    case ENOBUFS:
    case ENOMEM:
      return UdpFault::kBuffers;
    case EMSGSIZE:
    case EPERM:  // a firewall of this node
    case EINVAL:
    case EFAULT:
      return UdpFault::kDatagram;
    default:
      return UdpFault::kEndpoint;
  }
}

UdpFault connect_fault(int error) noexcept {
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
    case ENOSPC:  // watches of epoll
    case EAGAIN:  // no port is left
      return UdpFault::kNode;
    default:
      return UdpFault::kEndpoint;
  }
}

}  // namespace sluice::userspace
