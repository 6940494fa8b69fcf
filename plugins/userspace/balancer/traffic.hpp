// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Counts the traffic of an endpoint, or of a listener. Thread-safe; different counters are not read atomically.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::userspace {

// Several relay threads write it: it has a cache line of its own, apart from what they only read.
struct alignas(64) Traffic {
  using Count = std::atomic<std::uint64_t>;

  Count connections{0};  // TCP: established to the endpoint; UDP: flows
  Count active{0};       // of `connections`, now
  Count packets{0};      // UDP: datagrams to endpoints
  Count reply_packets{0};
  Count bytes{0};  // to endpoints, without headers
  Count reply_bytes{0};
  Count refused{0};  // of a listener: connections without an endpoint that answers; UDP: datagrams

  static void add(Count& to, std::uint64_t n) noexcept { to.fetch_add(n, std::memory_order_relaxed); }
  static std::uint64_t get(const Count& from) noexcept { return from.load(std::memory_order_relaxed); }
  void connected() noexcept {
    add(connections, 1);
    add(active, 1);
  }
  void disconnected() noexcept { active.fetch_sub(1, std::memory_order_relaxed); }
};

}  // namespace sluice::userspace
