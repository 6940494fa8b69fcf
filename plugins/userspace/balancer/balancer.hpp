// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Chooses an endpoint for each connection of one list of endpoints: load balancing, session
// affinity, passing over endpoints that do not answer. Deterministic: the caller passes time and
// the random seed. Thread-safe.
//
// BEH 8.6, with two intended differences: the key of a list contains the protocol, and a change of
// the affinity timeout alone takes effect.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/mutex.hpp"
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
    bool changed = false;           // endpoints were added or removed
  };

  // After its pause one connection tries an endpoint. If that connection has not succeeded or failed after this time,
  // another one tries.
  static constexpr Nanoseconds kTrialTimeout = 10'000'000'000;

  Balancer(const BalancerSettings& settings, std::uint64_t seed);
  ~Balancer();
  Balancer(const Balancer&) = delete;
  Balancer& operator=(const Balancer&) = delete;

  // Duplicates are removed. If the set is unchanged, in any order, nothing happens. Otherwise affinity with removed
  // endpoints is dropped, the list is shuffled and the index reset; remaining endpoints keep their Endpoint objects
  // with connection and failure counts.
  Change set_endpoints(std::span<const SocketAddress> endpoints);
  // Copies session affinity that is switched on later to `list` of the file; null: to none.
  void keep_affinity(std::shared_ptr<AffinityFile> file, std::uint64_t list);
  // 0 seconds: off, which drops all clients.
  void set_affinity(std::uint32_t seconds);

  // Chooses the endpoint of a dial; null if the list is empty. `tried` holds the endpoints that failed on this
  // connection: if there are any, affinity is ignored and rewritten (BEH 8.4). Prefers endpoints not tried, then
  // endpoints not passed over, but always returns one. A client bound to an endpoint that is passed over is bound to
  // another one.
  EndpointPtr next(const abi::Address& client, Nanoseconds now, std::span<const EndpointPtr> tried = {}) noexcept;

  // Report the result of a dial. An endpoint is passed over after enough consecutive failures, for a pause that doubles
  // each time. After the pause one connection tries it; success makes it available again. Dials that started before the
  // pause do not lengthen it.
  void dial_failed(const EndpointPtr& endpoint, Nanoseconds now) noexcept;
  void dial_succeeded(const EndpointPtr& endpoint) noexcept;
  // The dial ended for a reason unrelated to the endpoint (the client has gone): the next connection may try.
  void dial_abandoned(const EndpointPtr& endpoint) noexcept;

  // A client that session affinity binds to an endpoint, and the time until that expires.
  struct Binding {
    abi::Address client;
    abi::Address endpoint;
    std::uint16_t port;
    std::chrono::nanoseconds remaining;
  };
  // Least recently used first.
  std::vector<Binding> bindings(Nanoseconds now) const;
  // Binds clients that are not bound yet. Ignores bindings to endpoints that are not in the list, and all bindings
  // while affinity is off.
  void bind(std::vector<Binding> bindings, Nanoseconds now);

  // Removes expired affinity entries. Releases the lock between batches.
  void purge(Nanoseconds now) noexcept;

  std::size_t endpoints() const noexcept;
  // In no particular order.
  std::vector<SocketAddress> targets() const;
  // The endpoints, sorted by address.
  std::vector<EndpointPtr> members() const;
  struct Candidate {
    SocketAddress target;
    bool passed_over;
  };
  // As members().
  std::vector<Candidate> candidates(Nanoseconds now) const;
  // The endpoint to which session affinity binds the client; empty: none.
  std::optional<SocketAddress> bound_to(const abi::Address& client, Nanoseconds now) const noexcept;
  // 0: session affinity is off.
  std::uint32_t affinity_seconds() const noexcept;
  std::size_t affinity_clients() const noexcept;
  std::size_t passed_over(Nanoseconds now) const noexcept;

 private:
  static constexpr std::size_t kBatch = 256;  // affinity entries removed per lock

  Nanoseconds advance(Nanoseconds now) noexcept SLUICE_REQUIRES(mutex_);
  bool is_outlier(const Endpoint& endpoint) const noexcept SLUICE_REQUIRES(mutex_);
  bool is_passed_over(const Endpoint& endpoint) const noexcept SLUICE_REQUIRES(mutex_);
  bool is_passed_over_at(const Endpoint& endpoint, Nanoseconds now) const noexcept SLUICE_REQUIRES(mutex_);
  bool all_passed_over() const noexcept SLUICE_REQUIRES(mutex_);
  const EndpointPtr& take(Endpoint& endpoint) noexcept SLUICE_REQUIRES(mutex_);
  unsigned rank(const Endpoint& endpoint) const noexcept SLUICE_REQUIRES(mutex_);
  Endpoint& choose(std::span<const EndpointPtr> tried) noexcept SLUICE_REQUIRES(mutex_);
  Endpoint& choose_in_turn() noexcept SLUICE_REQUIRES(mutex_);
  Endpoint& choose_least() noexcept SLUICE_REQUIRES(mutex_);
  Endpoint& choose_of_two() noexcept SLUICE_REQUIRES(mutex_);
  Endpoint& less_loaded_of_two(std::span<Endpoint* const> candidates) noexcept SLUICE_REQUIRES(mutex_);
  void forget_clients(std::span<const EndpointPtr> gone) noexcept SLUICE_EXCLUDES(mutex_);

  const BalancerSettings settings_;
  mutable lib::Mutex mutex_;
  Random random_ SLUICE_GUARDED_BY(mutex_);
  Nanoseconds now_ SLUICE_GUARDED_BY(mutex_) = 0;  // the latest time of all threads; never goes back
  std::vector<EndpointPtr> slots_
      SLUICE_GUARDED_BY(mutex_);  // indices are stable; null: free, or its clients are being removed
  std::vector<std::uint32_t> free_ SLUICE_GUARDED_BY(mutex_);   // slots
  std::vector<Endpoint*> order_ SLUICE_GUARDED_BY(mutex_);      // shuffled
  std::vector<Endpoint*> by_target_ SLUICE_GUARDED_BY(mutex_);  // the same endpoints, sorted
  std::vector<Endpoint*> candidates_
      SLUICE_GUARDED_BY(mutex_);                        // buffer of choose_of_two(), reserved for all endpoints
  std::size_t index_ SLUICE_GUARDED_BY(mutex_) = 0;     // of the next endpoint in order_
  std::size_t outliers_ SLUICE_GUARDED_BY(mutex_) = 0;  // of those in the list
  std::uint64_t retry_round_ SLUICE_GUARDED_BY(mutex_) =
      0;                                             // counts choices that come after others on the same connection
  bool retrying_ SLUICE_GUARDED_BY(mutex_) = false;  // the one in hand is of that kind
  Nanoseconds affinity_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<AffinityFile> file_ SLUICE_GUARDED_BY(mutex_);
  std::uint64_t list_ SLUICE_GUARDED_BY(mutex_) = 0;  // in the file
  std::unique_ptr<AffinityTable> clients_ SLUICE_GUARDED_BY(mutex_)
      SLUICE_PT_GUARDED_BY(mutex_);  // while affinity is on
};

}  // namespace sluice::userspace
