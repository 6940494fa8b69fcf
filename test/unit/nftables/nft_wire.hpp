// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The kernel's end of a socket to nf_tables, as far as answers go: it remembers the messages of the transactions it carried out and tells
// them again when it is asked for what they made. Tests spoil the answers on their way.
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netlink/wire.hpp"

namespace sluice::nftables {

struct NftItem {
  std::string bytes;
  int error = 0;  // instead of bytes
};

inline constexpr std::uint32_t kNftPort = 4712;

// What outlives a wire that was closed and opened again.
struct NftLine {
  std::uint32_t generation = 1;
  std::function<std::uint32_t()> next_generation;  // instead, where it is set
  int send_error = 0;                              // of the next send
  int whole_error = 0;                             // of the next transaction as such
  // Which messages of a transaction are refused: their index, its type and what follows nlmsghdr; 0 or an errno.
  std::function<int(std::size_t index, int kind, std::string_view body)> refuse;
  std::uint32_t offset = 0;                        // told with each refusal, where it is not 0
  std::function<void(std::deque<NftItem>&)> spoil; // sees the answers to each datagram
  std::function<int(std::uint32_t group, bool on)> joined;  // 0 or an errno
  std::deque<NftItem> told;                        // notifications, to whoever has joined and does not ask
  std::function<void()> closed;                    // a wire
  std::uint32_t port = kNftPort;
  std::vector<std::uint32_t> left_out;             // what was asked for last
  std::map<int, std::vector<std::string>> kept;    // messages by their kind
  std::uint64_t opened = 0;
  std::uint64_t transactions = 0;                  // with those that had no end
  std::uint64_t empty = 0;                         // transactions with nothing in them
  std::uint64_t dumps = 0;
  std::deque<NftItem> queue;

  netlink::OpenWire opener();
};

std::string netlink_message(std::uint16_t type, std::uint16_t flags, std::uint32_t sequence, std::uint32_t port,
                            std::string_view body);

}  // namespace sluice::nftables
