// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The kernel's end of an nf_tables socket: it stores the messages of committed transactions and returns them in
// dumps. Tests can change the answers on their way.
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netlink/socket.hpp"

namespace sluice::nftables {

struct NftItem {
  std::string bytes;
  int error = 0;  // instead of bytes
};

inline constexpr std::uint32_t kNftPortId = 4712;

// The state that outlives a socket.
struct NftLine {
  std::uint32_t generation = 1;
  std::function<std::uint32_t()> next_generation;  // replaces generation, if set
  int send_error = 0;                              // of the next send
  int whole_error = 0;                             // of the next transaction as a whole
  // Refuses a message of a transaction by its index, type and the bytes after nlmsghdr; returns 0 or an errno.
  std::function<int(std::size_t index, int kind, std::string_view body)> refuse;
  std::uint32_t offset = 0;                                 // in each refusal, unless it is 0
  std::function<void(std::deque<NftItem>&)> spoil;          // may change the answers to each datagram
  std::function<int(std::uint32_t group, bool on)> joined;  // returns 0 or an errno
  std::deque<NftItem> notifications;                        // for sockets that have joined the group
  std::function<void()> closed;                             // called when a socket is closed
  std::uint32_t port_id = kNftPortId;
  std::vector<std::uint32_t> filtered_port_ids;  // of the last filter
  std::map<int, std::vector<std::string>> kept;  // committed messages by kind
  std::uint64_t opened = 0;
  std::uint64_t transactions = 0;  // including those without an end message
  std::uint64_t empty = 0;         // empty transactions
  std::uint64_t dumps = 0;
  std::deque<NftItem> queue;

  netlink::OpenRawSocket opener();
};

std::string netlink_message(std::uint16_t type, std::uint16_t flags, std::uint32_t sequence, std::uint32_t port_id,
                            std::string_view body);

}  // namespace sluice::nftables
