// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/netlink/raw_socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <new>
#include <string>
#include <utility>

namespace sluice::lib::netlink {
namespace {

// Holds the acknowledgements of one datagram of requests (Socket::kWindow), and the parts of a dump, until they are
// read.
constexpr int kReceiveBuffer = 1 << 20;
constexpr int kSendBuffer = 256 << 10;
constexpr std::size_t kMaxPortIds = 16;  // to ignore; a process has one per address family

class LibnlSocket final : public RawSocket {
 public:
  LibnlSocket() : socket_(nl_socket_alloc()) {
    if (!socket_) throw std::bad_alloc();
  }

  // 0 or an errno.
  int connect(int protocol) noexcept {
    errno = 0;
    if (nl_connect(socket_.get(), protocol) != 0) return errno != 0 ? errno : EPROTONOSUPPORT;
    const int descriptor = nl_socket_get_fd(socket_.get());
    set(descriptor, SOL_SOCKET, SO_SNDBUF, kSendBuffer);
    if (!set(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, kReceiveBuffer)) set(descriptor, SOL_SOCKET, SO_RCVBUF, kReceiveBuffer);
    // Optional, since older kernels lack some of them: error replies without a copy of the request and with a message;
    // dumps that the kernel filters by the request's header.
    set(descriptor, SOL_NETLINK, NETLINK_CAP_ACK, 1);
    set(descriptor, SOL_NETLINK, NETLINK_EXT_ACK, 1);
    if (protocol == NETLINK_ROUTE) set(descriptor, SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1);
    return 0;
  }

  int send(std::string_view datagram) noexcept override {
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    for (;;) {
      const ssize_t sent = ::sendto(nl_socket_get_fd(socket_.get()), datagram.data(), datagram.size(), MSG_NOSIGNAL,
                                    reinterpret_cast<const sockaddr*>(&kernel), sizeof(kernel));
      if (sent >= 0) return 0;
      if (errno != EINTR) return errno;
    }
  }

  long receive(std::span<char> into, std::chrono::milliseconds timeout) noexcept override {
    const auto end = std::chrono::steady_clock::now() + timeout;
    for (;;) {
      sockaddr_nl from{};
      socklen_t size = sizeof(from);
      const ssize_t got = ::recvfrom(nl_socket_get_fd(socket_.get()), into.data(), into.size(), MSG_TRUNC | MSG_DONTWAIT,
                                     reinterpret_cast<sockaddr*>(&from), &size);
      if (got >= 0 && from.nl_pid == 0) return got;
      if (got >= 0 || errno == EINTR) continue;
      if (errno != EAGAIN) return -errno;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0) return -EAGAIN;
      pollfd wait{nl_socket_get_fd(socket_.get()), POLLIN, 0};
      if (::poll(&wait, 1, static_cast<int>(left.count())) < 0 && errno != EINTR) return -errno;
    }
  }

  std::uint32_t port_id() const noexcept override { return nl_socket_get_local_port(socket_.get()); }

  int grow_send_buffer(std::size_t bytes) noexcept override {
    // The kernel doubles the given size and uses a part of it for itself.
    const std::size_t wanted = bytes + kSendBuffer;
    if (wanted > INT_MAX / 2) return EMSGSIZE;
    const int size = static_cast<int>(wanted);
    if (size <= send_buffer_) return 0;
    if (!set(descriptor(), SOL_SOCKET, SO_SNDBUFFORCE, size) && !set(descriptor(), SOL_SOCKET, SO_SNDBUF, size)) return errno;
    send_buffer_ = size;
    return 0;
  }

  int set_membership(std::uint32_t group, bool on) noexcept override {
    return set(descriptor(), SOL_NETLINK, on ? NETLINK_ADD_MEMBERSHIP : NETLINK_DROP_MEMBERSHIP, static_cast<int>(group))
               ? 0
               : errno;
  }

  int ignore_senders(std::span<const std::uint32_t> port_ids) noexcept override {
    int error = port_ids.size() > kMaxPortIds ? E2BIG : 0;
    if (error == 0 && !port_ids.empty()) {
      // A notification has the port ID of the socket that caused the change in nlmsg_pid. All messages of a datagram
      // have the same one.
      std::array<sock_filter, kMaxPortIds + 3> program;
      std::size_t size = 0;
      program[size++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(nlmsghdr, nlmsg_pid));
      for (std::size_t i = 0; i < port_ids.size(); ++i) {
        const auto to_end = static_cast<std::uint8_t>(port_ids.size() - i);
        program[size++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(port_ids[i]), to_end, 0);
      }
      program[size++] = BPF_STMT(BPF_RET | BPF_K, UINT_MAX);
      program[size++] = BPF_STMT(BPF_RET | BPF_K, 0);
      error = attach(std::span(program).first(size));
      if (error == 0) return 0;
    }
    const int none = 0;
    if (setsockopt(descriptor(), SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none)) == 0 || errno == ENOENT) return error;
    return error != 0 ? error : errno;
  }

  int filter_by_attribute(std::uint16_t attribute, std::size_t header) noexcept override {
    std::array<sock_filter, 6> program{{
        BPF_STMT(BPF_LD | BPF_IMM, static_cast<std::uint32_t>(NLMSG_HDRLEN + NLMSG_ALIGN(header))),
        BPF_STMT(BPF_LDX | BPF_IMM, attribute),
        // The offset of the attribute, searched from there; 0: not found.
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_NLATTR)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    }};
    return attach(program);
  }

  int descriptor() const noexcept override { return nl_socket_get_fd(socket_.get()); }

 private:
  int attach(std::span<sock_filter> program) noexcept {
    const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    return setsockopt(descriptor(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) == 0 ? 0 : errno;
  }
  static bool set(int descriptor, int level, int option, int value) noexcept {
    return setsockopt(descriptor, level, option, &value, sizeof(value)) == 0;
  }
  struct Close {
    void operator()(nl_sock* socket) const noexcept { nl_socket_free(socket); }
  };
  std::unique_ptr<nl_sock, Close> socket_;
  int send_buffer_ = 0;
};

}  // namespace

int RawSocket::grow_send_buffer(std::size_t) noexcept { return 0; }
int RawSocket::set_membership(std::uint32_t, bool) noexcept { return EOPNOTSUPP; }
int RawSocket::filter_by_attribute(std::uint16_t, std::size_t) noexcept { return EOPNOTSUPP; }
int RawSocket::ignore_senders(std::span<const std::uint32_t>) noexcept { return EOPNOTSUPP; }

Result<std::unique_ptr<RawSocket>> open_raw_socket(int protocol) {
  auto socket = std::make_unique<LibnlSocket>();
  if (const int error = socket->connect(protocol); error != 0) {
    return errno_status("cannot open a netlink socket of protocol " + std::to_string(protocol), error);
  }
  return std::unique_ptr<RawSocket>(std::move(socket));
}

}  // namespace sluice::lib::netlink
