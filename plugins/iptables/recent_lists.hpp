// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lists of the match `recent`: the clients of an endpoint with session affinity, and the time of their last packet. The
// kernel shows a list as a file while a rule names it.
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
  // Whether this kernel shows such lists.
  virtual bool available() = 0;
  // Clients of one family. Empty if there is no such list.
  virtual std::optional<std::vector<RecentClient>> read(const std::string& list, abi::Family family) = 0;
  // The maximum number of clients in a list; a further one replaces the oldest one.
  virtual std::size_t capacity() = 0;
  struct Added {
    std::size_t failed = 0;
    int error = 0;  // errno of the last failure
  };
  // Adds the clients in this order. The kernel sets their time to now; it cannot be set to another time.
  virtual Added add(const std::string& list, const std::vector<abi::Address>& clients, abi::Family family) = 0;
};

// The lists in the network namespace of the calling thread.
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
// "src=10.0.0.1 ttl: 64 last_seen: 4295012345 oldest_pkt: 1 4295012345"; empty for other text or the other family.
std::optional<RecentClient> parse_recent(std::string_view line, abi::Family family, const Jiffies& clock);

}  // namespace sluice::iptables
