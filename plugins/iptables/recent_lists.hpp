// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lists of the match `recent`: which clients an endpoint with session affinity had, and when last. The kernel shows one as
// a file as long as a rule names it.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/abi/types.hpp"

namespace sluice::iptables {

struct RecentClient {
  abi::Address address{};
  std::chrono::seconds age{0};  // since its last packet
};

// One thread at a time.
class RecentLists {
 public:
  virtual ~RecentLists() = default;
  // Whether this kernel has such lists at all.
  virtual bool available() = 0;
  // Clients of one family. Empty when there is no such list.
  virtual std::optional<std::vector<RecentClient>> read(const std::string& list, abi::Family family) = 0;
  // How many clients a list remembers; for one more it forgets the one that was added or seen first.
  virtual std::size_t capacity() = 0;
  struct Added {
    std::size_t failed = 0;
    int error = 0;  // errno of the last that failed
  };
  // In this order, as if a packet of each had come just now; a list remembers no other time.
  virtual Added add(const std::string& list, const std::vector<abi::Address>& clients, abi::Family family) = 0;
};

// Those of the network namespace of the calling thread.
class KernelRecentLists final : public RecentLists {
 public:
  bool available() override;
  std::optional<std::vector<RecentClient>> read(const std::string& list, abi::Family family) override;
  std::size_t capacity() override;
  Added add(const std::string& list, const std::vector<abi::Address>& clients, abi::Family family) override;
};

// The kernel's clock of these lists.
struct Jiffies {
  unsigned long now;
  unsigned long per_second;
};
// "src=10.0.0.1 ttl: 64 last_seen: 4295012345 oldest_pkt: 1 4295012345": empty for what is none, or of the other family.
std::optional<RecentClient> parse_recent(std::string_view line, abi::Family family, const Jiffies& clock);

}  // namespace sluice::iptables
