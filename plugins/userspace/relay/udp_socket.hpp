// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sockets of the UDP relay, and the classification of their errors.
#pragma once

#include <cstdint>

#include "lib/fd.hpp"
#include "plugins/userspace/socket_address.hpp"

namespace sluice::userspace {

// Prepares a listening socket: larger buffers for bursts, packet info with each datagram.
void prepare_udp_service_socket(int fd) noexcept;

// Opens a non-blocking socket with this mark that also reports ICMP errors. 0 or an errno.
[[nodiscard]] int open_udp_socket(int family, std::uint32_t mark, lib::Fd& out) noexcept;

// Opens a non-blocking socket with this mark, connected to `target`, that also reports ICMP errors. 0 or an errno.
[[nodiscard]] int connect_udp(const SocketAddress& target, std::uint32_t mark, lib::Fd& out) noexcept;

// Takes the pending error of a socket of connect_udp(); 0 if none concerns the endpoint.
int take_udp_error(int fd) noexcept;

// What an error concerns.
enum class UdpFault {
  kEndpoint,  // no socket or no route there
  kNode,      // descriptors, ports or memory of this node have run out
  kBuffers,   // buffers are full, which is temporary
  kDatagram,  // this datagram: too long, or forbidden
};
UdpFault udp_fault(int error) noexcept;      // of sending
UdpFault connect_fault(int error) noexcept;  // of connect_udp(): kEndpoint or kNode

}  // namespace sluice::userspace
