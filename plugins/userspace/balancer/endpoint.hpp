// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One endpoint, shared by the balancer and the relays: its address, its open connections, and its
// failures. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "plugins/userspace/balancer/traffic.hpp"
#include "plugins/userspace/socket_address.hpp"

namespace sluice::userspace {

class Endpoint {
 public:
  explicit Endpoint(const SocketAddress& target) noexcept : target_(target) {}
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const SocketAddress& target() const noexcept { return target_; }

  // TCP connections and UDP clients of this endpoint, dials included. Counted by the relays.
  void connected() noexcept { open_.fetch_add(1, std::memory_order_relaxed); }
  void disconnected() noexcept { open_.fetch_sub(1, std::memory_order_relaxed); }
  std::uint32_t open() const noexcept { return open_.load(std::memory_order_relaxed); }

  Traffic& traffic() noexcept { return traffic_; }

  // Removed from its list, for good: it gets no new connections.
  void retire() noexcept { retired_.store(true, std::memory_order_release); }
  bool retired() const noexcept { return retired_.load(std::memory_order_acquire); }

 private:
  friend class Balancer;

  const SocketAddress target_;
  std::atomic<std::uint32_t> open_{0};
  std::atomic<bool> retired_{false};

  // Under the lock of its balancer.
  bool trial_ = false;                      // one connection is trying it after a pause
  std::uint32_t slot_ = 0;                  // its index in the balancer
  std::atomic<std::uint32_t> failures_{0};  // consecutive failed dials; also read without the lock
  std::uint64_t pause_ = 0;                 // length of the last pause in nanoseconds
  std::uint64_t passed_over_until_ = 0;     // valid while failures_ reach the threshold
  std::uint64_t retry_round_ = 0;           // the choice for which it was among those tried

  Traffic traffic_;
};

using EndpointPtr = std::shared_ptr<Endpoint>;

}  // namespace sluice::userspace
