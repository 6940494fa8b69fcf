// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The seam below the encoding: datagrams to and from the kernel. Tests put theirs here, in order to break what a kernel
// rarely breaks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace sluice::netlink {

class Wire {
 public:
  virtual ~Wire() = default;
  // One datagram, in which there may be many requests. 0 or an errno.
  virtual int send(std::string_view datagram) noexcept = 0;
  // The next datagram of the kernel, those of other senders left out: its size, which is larger than `into` where it has been
  // cut. Negative: an errno, EAGAIN when nothing came in time.
  virtual long receive(std::span<char> into, std::chrono::milliseconds patience) noexcept = 0;
  // What the kernel calls this end: it stands in its answers.
  virtual std::uint32_t port() const noexcept = 0;

  // What only some need. Each returns 0 or an errno.
  // Room for one datagram of this size to the kernel, beyond the limits of the system where there is CAP_NET_ADMIN.
  virtual int make_room(std::size_t bytes) noexcept;
  // Notifications of this group come in from now on, or do not any more.
  virtual int listen(std::uint32_t group, bool on) noexcept;
  // Notifications of what the sockets of these ports do, and of none else, do not come in from now on, in the kernel already.
  // After an error all come in. Any thread.
  virtual int leave_out(std::span<const std::uint32_t> ports) noexcept;
  // Only messages that have this attribute, after a header of that many bytes behind nlmsghdr, come in from now on.
  virtual int only_with(std::uint16_t attribute, std::size_t header) noexcept;
  // To poll for input; -1: there is none.
  virtual int descriptor() const noexcept { return -1; }
};

// A socket of this protocol (NETLINK_ROUTE, NETLINK_GENERIC, NETLINK_NETFILTER) in the network namespace of the calling thread.
// Throws sdk::Failure.
std::unique_ptr<Wire> open_kernel(int protocol);

using OpenWire = std::function<std::unique_ptr<Wire>()>;

}  // namespace sluice::netlink
