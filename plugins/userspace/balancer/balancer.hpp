// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Who gets the next connection of one list of endpoints: balancing, session affinity,
// passing over endpoints that do not answer. Pure but for its lock: time and randomness
// are given. Any thread.
//
// BEH 8.6, with two differences on purpose: the key of a list has the protocol in it, and
// a change of the affinity's time to live alone takes effect.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "plugins/userspace/balancer/affinity_table.hpp"
#include "plugins/userspace/balancer/endpoint.hpp"
#include "plugins/userspace/balancer/random.hpp"
#include "plugins/userspace/settings.hpp"

namespace sluice::userspace {

// Nanoseconds of a monotonic clock.
using Nanoseconds = std::uint64_t;

class Balancer {
 public:
  struct Change {
    std::vector<EndpointPtr> gone;  // already retired
    bool changed = false;           // the list is another one now
  };

  // How long a connection that tries an endpoint after its pause may take to tell how it ended, before another one
  // does.
  static constexpr Nanoseconds kTrialPatience = 10'000'000'000;

  Balancer(const BalancerSettings& settings, std::uint64_t seed);
  ~Balancer();
  Balancer(const Balancer&) = delete;
  Balancer& operator=(const Balancer&) = delete;

  // Equal addresses and ports are one endpoint. The same set as before, in whatever order: nothing happens, order and
  // index stay. Else affinity with those that are gone is dropped, the list is shuffled, the index is 0; whoever
  // stays keeps his Endpoint object with its counts and marks.
  Change set_endpoints(std::span<const SocketAddress> endpoints);
  // 0 seconds: off. Switching it off forgets all clients.
  void set_affinity(std::uint32_t seconds);

  // Of a dial. `tried`: those that failed on this connection, which makes it a retry: affinity is passed over and
  // rewritten (BEH 8.4). One that was not tried is preferred, then one that is not passed over; when all of them are
  // tried or passed over, one is given all the same. Null when the list is empty. A client that sticks to an endpoint
  // that is passed over is led, and sticks from then on, to another one that is not.
  EndpointPtr next(const abi::Address& client, Nanoseconds now, std::span<const EndpointPtr> tried = {}) noexcept;

  // How the dial ended. Enough failures in a row make it passed over, for a time that doubles; when that is over, one
  // connection tries it, and its success ends it. Dials that were under way when the pause began do not lengthen it.
  void dial_failed(const EndpointPtr& endpoint, Nanoseconds now) noexcept;
  void dial_succeeded(const EndpointPtr& endpoint) noexcept;
  // It was given up for a reason that tells nothing of the endpoint (the client is gone): the next one may try.
  void dial_abandoned(const EndpointPtr& endpoint) noexcept;

  // A client that session affinity binds to an endpoint, and for how long when nothing more is heard of it.
  struct Binding {
    abi::Address client;
    abi::Address endpoint;
    std::uint16_t port;
    std::chrono::nanoseconds remaining;
  };
  // The one not heard of longest first.
  std::vector<Binding> bindings(Nanoseconds now) const;
  // Binds those that are not bound to the endpoints of the list; others are passed over, as are all without affinity.
  void bind(std::vector<Binding> bindings, Nanoseconds now);

  // Removes affinity entries that are too old. Takes the lock for a few of them at a time.
  void purge(Nanoseconds now) noexcept;

  std::size_t endpoints() const noexcept;
  // In no order.
  std::vector<SocketAddress> targets() const;
  // 0: no session affinity.
  std::uint32_t affinity_seconds() const noexcept;
  std::size_t affinity_clients() const noexcept;
  std::size_t passed_over(Nanoseconds now) const noexcept;

 private:
  static constexpr std::size_t kBatch = 256;  // affinity entries forgotten under one lock

  // All of them under the lock.
  Nanoseconds advance(Nanoseconds now) noexcept;
  bool marked(const Endpoint& endpoint) const noexcept;
  bool is_passed_over(const Endpoint& endpoint) const noexcept;
  bool all_passed_over() const noexcept;
  const EndpointPtr& take(Endpoint& endpoint) noexcept;
  unsigned rank(const Endpoint& endpoint) const noexcept;
  Endpoint& choose(std::span<const EndpointPtr> tried) noexcept;
  Endpoint& choose_in_turn() noexcept;
  Endpoint& choose_least() noexcept;
  Endpoint& choose_of_two() noexcept;
  Endpoint& less_loaded_of_two(std::span<Endpoint* const> candidates) noexcept;
  void forget_clients(std::span<const EndpointPtr> gone) noexcept;

  const BalancerSettings settings_;
  mutable std::mutex mutex_;
  Random random_;
  Nanoseconds now_ = 0;                // the latest of all threads: it never goes back
  std::vector<EndpointPtr> slots_;     // each stays where it is; null: free, or its clients are being forgotten
  std::vector<std::uint32_t> free_;    // slots
  std::vector<Endpoint*> order_;       // shuffled
  std::vector<Endpoint*> by_target_;   // the same, sorted
  std::vector<Endpoint*> candidates_;  // of choose_of_two(), with room for all
  std::size_t index_ = 0;              // in order_, of the next one
  std::size_t marked_ = 0;             // of those in the list
  std::uint64_t turn_ = 0;             // counts choices that come after others on the same connection
  bool retrying_ = false;              // the one in hand is of that kind
  Nanoseconds affinity_ = 0;
  std::unique_ptr<AffinityTable> clients_;  // while affinity is on
};

}  // namespace sluice::userspace
