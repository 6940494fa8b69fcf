// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One endpoint as the balancer and the relays share it: where to dial, how many
// connections are open, whether it is passed over for a while. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "plugins/userspace/socket_address.hpp"

namespace sluice::userspace {

class Endpoint {
 public:
  explicit Endpoint(const SocketAddress& target) noexcept : target_(target) {}
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const SocketAddress& target() const noexcept { return target_; }

  // TCP connections and UDP clients that a relay has with it, dials included. Relays count.
  void connected() noexcept { open_.fetch_add(1, std::memory_order_relaxed); }
  void disconnected() noexcept { open_.fetch_sub(1, std::memory_order_relaxed); }
  std::uint32_t open() const noexcept { return open_.load(std::memory_order_relaxed); }

  // No longer in the list it came from: nobody new is sent there. Never taken back.
  void retire() noexcept { retired_.store(true, std::memory_order_release); }
  bool retired() const noexcept { return retired_.load(std::memory_order_acquire); }

 private:
  friend class Balancer;

  const SocketAddress target_;
  std::atomic<std::uint32_t> open_{0};
  std::atomic<bool> retired_{false};

  // Of the one balancer it belongs to, under its lock.
  bool trial_ = false;                      // one connection tries it, after a pause
  std::uint32_t slot_ = 0;                  // where the balancer holds it
  std::atomic<std::uint32_t> failures_{0};  // dials in a row; also read without the lock
  std::uint64_t pause_ = 0;                 // nanoseconds; the latest one
  std::uint64_t passed_over_until_ = 0;     // while failures_ are too many
  std::uint64_t tried_in_ = 0;              // the choice for which it was among those tried
};

using EndpointPtr = std::shared_ptr<Endpoint>;

}  // namespace sluice::userspace
