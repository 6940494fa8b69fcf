// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Room for a batch of datagrams of any length, and the system calls that fill and empty
// it: many datagrams a call, with the addresses of both ends. Knows nothing of clients.
// One thread.
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
  ~UdpBatch();  // gives the memory back
  UdpBatch(const UdpBatch&) = delete;
  UdpBatch& operator=(const UdpBatch&) = delete;

  // How many datagrams came, into slots from `first` on, at most `count`; or a negative errno, -EAGAIN when there are
  // none. receive_from() is for sockets that everybody sends to: their source and destination are kept too.
  int receive(int fd, std::size_t first, std::size_t count) noexcept;
  int receive_from(int fd, std::size_t first, std::size_t count) noexcept;

  // How many of `slots` were sent, in this order; or a negative errno when none was. send() is for connected sockets.
  int send(int fd, std::span<const Slot> slots) noexcept;
  int send_to(int fd, std::span<const Slot> slots) noexcept;

  std::size_t length(std::size_t slot) const noexcept { return lengths_[slot]; }
  // Longer than any UDP datagram but a jumbogram can be.
  bool cut(std::size_t slot) const noexcept { return (received_[slot].msg_hdr.msg_flags & MSG_TRUNC) != 0; }

  // Who sent it and where to, all but the owner. After receive_from().
  UdpClientKey key(std::size_t slot) const noexcept;
  // Makes it a datagram of key.local to key.client. For send_to().
  void address(std::size_t slot, const UdpClientKey& key) noexcept;

 private:
  // Of 64 KiB, and a little more so that slots do not fall upon the same lines of the processor's cache.
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
