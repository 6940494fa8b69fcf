// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The kernel's end of a netlink socket: parses real datagrams strictly, calls a FakeServerKernel, and answers like
// the kernel. Tests corrupt the answers.
#pragma once

#include <linux/netlink.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "lib/netlink/message.hpp"
#include "plugins/common/netlink/socket.hpp"
#include "test/unit/ipvs/fake_server_kernel.hpp"

namespace sluice::ipvs {

struct IpvsItem {
  std::string bytes;
  int error = 0;  // instead of bytes
};

// State that survives closing and reopening a socket.
struct IpvsLine {
  FakeServerKernel kernel;
  std::uint16_t id = 0x20;        // family number; 0: none
  std::size_t in_datagram = 3;    // messages of a dump per datagram
  bool wide_counters = true;      // counters of 64 bits
  int send_error = 0;             // of the next send
  std::function<void(std::deque<IpvsItem>&)> corrupt;  // receives the answers to each datagram
  std::uint64_t opened = 0;
  std::uint64_t datagrams = 0;    // to the kernel
  std::size_t most_requests = 0;  // in one of them
  std::deque<IpvsItem> queue;

  netlink::OpenRawSocket opener();
};

// Built from parts that tests also use directly.
inline constexpr std::uint32_t kIpvsPortId = 4711;
std::string acknowledgement(std::uint32_t sequence, int error, const std::string& reason = {});
std::string done(std::uint32_t sequence, int error = 0);
// The first header of a datagram.
nlmsghdr* first_message(std::string& datagram);

}  // namespace sluice::ipvs
