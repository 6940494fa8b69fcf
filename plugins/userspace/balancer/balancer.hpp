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
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "plugins/userspace/balancer/endpoint.hpp"
#include "plugins/userspace/settings.hpp"

namespace sluice::userspace {

class AffinityTable;

// Nanoseconds of a monotonic clock.
using Nanoseconds = std::uint64_t;

class Balancer {
 public:
  struct Change {
    std::vector<EndpointPtr> gone;  // already retired
    bool changed = false;           // the list is another one now
  };

  Balancer(const BalancerSettings& settings, std::uint64_t seed);
  ~Balancer();

  // Equal addresses and ports are one endpoint. The same set as before, in whatever order: nothing happens, order and
  // index stay. Else affinity with those that are gone is dropped, the list is shuffled, the index is 0; whoever
  // stays keeps his Endpoint object with its counts and marks.
  Change set_endpoints(std::span<const SocketAddress> endpoints);
  // 0 seconds: off. Switching it off forgets all clients.
  void set_affinity(std::uint32_t seconds);

  // Of a dial. `tried`: those that failed on this connection, which makes it a retry: affinity is passed over and
  // rewritten (BEH 8.4). One that was not tried is preferred, then one that is not passed over; when all of them are
  // tried or passed over, one is given all the same. Null when the list is empty.
  EndpointPtr next(const abi::Address& client, Nanoseconds now, std::span<const EndpointPtr> tried = {});

  // How the dial ended. Enough failures in a row make it passed over, for a time that doubles; when that is over, one
  // connection tries it, and its success ends it.
  void dial_failed(const EndpointPtr& endpoint, Nanoseconds now);
  void dial_succeeded(const EndpointPtr& endpoint);

  // Removes affinity entries that are too old.
  void purge(Nanoseconds now);

  std::size_t endpoints() const;
  std::size_t affinity_clients() const;
  std::size_t passed_over(Nanoseconds now) const;

 private:
  struct Member;
  // Private part as its author needs it.
  struct State;
  mutable std::mutex mutex_;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::userspace
