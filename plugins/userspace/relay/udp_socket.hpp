// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Making and asking the sockets that the UDP relay uses, and what their errors mean.
#pragma once

#include <cstdint>

#include "plugins/userspace/descriptor.hpp"
#include "plugins/userspace/socket_address.hpp"

namespace sluice::userspace {

// A socket that everybody sends to: buffers for bursts, addresses of both ends with each datagram.
void prepare_udp_service_socket(int fd) noexcept;

// A non-blocking socket with this mark that receives from `target` alone, and its ICMP errors. 0 or an errno.
[[nodiscard]] int connect_udp(const SocketAddress& target, std::uint32_t mark, Descriptor& out) noexcept;

// The error that waits at a socket of connect_udp(), which no longer waits then; 0: none that concerns the endpoint.
int take_udp_error(int fd) noexcept;

// What failed says something about...
enum class UdpFault {
  kEndpoint,  // nobody is there, or nothing leads there
  kNode,      // descriptors, ports or memory of this node have run out
  kBuffers,   // there is no room for more at the moment
  kDatagram,  // this one: too long, or forbidden
};
UdpFault udp_fault(int error) noexcept;      // of sending
UdpFault connect_fault(int error) noexcept;  // of connect_udp(): kEndpoint or kNode

}  // namespace sluice::userspace
