// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A netlink socket that sends and receives whole datagrams. Tests replace this interface to simulate rare kernel
// errors.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "lib/status.hpp"

namespace sluice::lib::netlink {

class RawSocket {
 public:
  virtual ~RawSocket() = default;
  // Sends one datagram, which may contain many requests. Returns 0 or an errno.
  virtual int send(std::string_view datagram) noexcept = 0;
  // Receives the next datagram of the kernel; ignores other senders. Returns its size, which is larger than `into` if
  // it was truncated, or a negative errno: -EAGAIN after a timeout.
  virtual long receive(std::span<char> into, std::chrono::milliseconds timeout) noexcept = 0;
  // The port ID of this socket, which replies contain (nlmsg_pid).
  virtual std::uint32_t port_id() const noexcept = 0;

  // Optional operations. Those that return int return 0 or an errno. By default grow_send_buffer() returns 0 and the
  // rest EOPNOTSUPP.
  // Grows the send buffer for one datagram of this size, with CAP_NET_ADMIN beyond the system limit.
  virtual int grow_send_buffer(std::size_t bytes) noexcept;
  // Joins or leaves a multicast group.
  virtual int set_membership(std::uint32_t group, bool on) noexcept;
  // Drops notifications about changes by the sockets with these port IDs, with a filter in the kernel. Replaces the
  // port IDs of the last call. After an error nothing is dropped. Any thread.
  virtual int ignore_senders(std::span<const std::uint32_t> port_ids) noexcept;
  // Drops messages without this attribute. `header`: the size of the header between nlmsghdr and the attributes.
  virtual int filter_by_attribute(std::uint16_t attribute, std::size_t header) noexcept;

  // The descriptor to poll for input; -1, the default: none.
  virtual int descriptor() const noexcept { return -1; }
};

// A socket of this protocol (NETLINK_ROUTE, NETLINK_GENERIC, NETLINK_NETFILTER) in the network namespace of the calling thread.
Result<std::unique_ptr<RawSocket>> open_raw_socket(int protocol);

using OpenRawSocket = std::function<Result<std::unique_ptr<RawSocket>>()>;

}  // namespace sluice::lib::netlink
