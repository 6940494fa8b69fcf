// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The kernel's end of a netlink socket: takes real datagrams apart, strictly, asks a FakeServerKernel, and answers as the
// kernel does. Tests spoil the answers on their way.
#pragma once

#include <linux/netlink.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "plugins/common/netlink/message.hpp"
#include "plugins/common/netlink/wire.hpp"
#include "test/unit/ipvs/fake_server_kernel.hpp"

namespace sluice::ipvs {

struct WireItem {
  std::string bytes;
  int error = 0;  // instead of bytes
};

// What outlives a wire that was closed and opened again.
struct IpvsLine {
  FakeServerKernel kernel;
  std::uint16_t id = 0x20;        // of the family; 0: there is none
  std::size_t in_datagram = 3;    // messages of a dump
  int send_error = 0;             // of the next send
  std::function<void(std::deque<WireItem>&)> spoil;  // sees the answers to each datagram
  std::uint64_t opened = 0;
  std::uint64_t datagrams = 0;    // to the kernel
  std::size_t most_requests = 0;  // in one of them
  std::deque<WireItem> queue;

  netlink::OpenWire opener();
};

// Made of parts that tests put together themselves as well.
inline constexpr std::uint32_t kWirePort = 4711;
std::string acknowledgement(std::uint32_t sequence, int error, const std::string& reason = {});
std::string done(std::uint32_t sequence, int error = 0);
// The header of the first message of a datagram.
nlmsghdr* first_message(std::string& datagram);

}  // namespace sluice::ipvs
