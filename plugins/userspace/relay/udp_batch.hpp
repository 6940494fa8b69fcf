// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Buffers for a batch of datagrams, and recvmmsg() and sendmmsg() on them, with the addresses of both
// ends. Single-threaded.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "plugins/userspace/relay/udp_client_table.hpp"
#include "plugins/userspace/socket_address.hpp"

namespace sluice::userspace {

class UdpBatch {
 public:
  static constexpr std::size_t kSlots = 64;
  using Slot = std::uint8_t;

  UdpBatch();   // throws std::bad_alloc
  ~UdpBatch();
  UdpBatch(const UdpBatch&) = delete;
  UdpBatch& operator=(const UdpBatch&) = delete;

  // Receive at most `count` datagrams into slots from `first` on. Return their number, or a negative errno; -EAGAIN if
  // there are none. receive_from() is for unconnected sockets and stores source and destination.
  int receive(int fd, std::size_t first, std::size_t count) noexcept;
  int receive_from(int fd, std::size_t first, std::size_t count) noexcept;

  // Send `slots` in order. Return how many were sent, or a negative errno if none was. send() is for connected sockets.
  int send(int fd, std::span<const Slot> slots) noexcept;
  int send_to(int fd, std::span<const Slot> slots) noexcept;

  std::size_t length(std::size_t slot) const noexcept { return lengths_[slot]; }
  // Whether the datagram was truncated: only jumbograms are that long.
  bool cut(std::size_t slot) const noexcept { return (received_[slot].msg_hdr.msg_flags & MSG_TRUNC) != 0; }

  // Source and destination of the datagram; `owner` is not set. After receive_from().
  UdpClientKey key(std::size_t slot) const noexcept;
  // The index of the interface through which the datagram arrived; 0: unknown. After receive_from().
  unsigned interface(std::size_t slot) const noexcept;
  // Sets key.local as the source and key.client as the destination. For send_to().
  void address(std::size_t slot, const UdpClientKey& key) noexcept;

 private:
  // The stride avoids that all slots map to the same cache lines.
  static constexpr std::size_t kRoom = 65536;
  static constexpr std::size_t kStride = kRoom + 256;
  struct alignas(cmsghdr) Control {
    std::array<char, 64> bytes;
  };

  std::byte* data(std::size_t slot) const noexcept { return memory_ + slot * kStride; }

  int receive(int fd, std::size_t first, std::size_t count, bool from) noexcept;
  int send(int fd, std::span<const Slot> slots, bool to) noexcept;

  std::byte* memory_;
  std::array<std::size_t, kSlots> lengths_{};
  std::array<mmsghdr, kSlots> received_{};
  std::array<mmsghdr, kSlots> sent_{};
  std::array<iovec, kSlots> vectors_{};
  std::array<iovec, kSlots> sent_vectors_{};
  std::array<SocketAddress, kSlots> names_;
  std::array<Control, kSlots> controls_{};
  std::array<std::uint8_t, kSlots> control_lengths_{};
};

}  // namespace sluice::userspace
