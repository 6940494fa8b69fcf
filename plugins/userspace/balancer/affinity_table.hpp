// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Session affinity of one list of endpoints: client address -> slot of the endpoint and time of
// last use. Bounded: beyond the limit the least recently used client is evicted.
//
// Takes 48 bytes per client, plus 4 to 8 for the hash table, and 50 in the file if there is one. All operations on one client take
// constant time; dropping is linear in the clients dropped. Memory is freed with the last client.
// Not thread-safe; `now` must never go back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/userspace/balancer/affinity_file.hpp"
#include "plugins/userspace/socket_address.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

class AffinityTable {
 public:
  using Slot = std::uint32_t;
  using Nanoseconds = std::uint64_t;
  static constexpr Slot kNone = ~Slot{0};

  // `limit` is at least 1. The hash is seeded, so that clients cannot choose addresses that collide.
  // `records`: copies of the entries in a file; null: none.
  AffinityTable(std::size_t limit, std::uint64_t seed, std::unique_ptr<AffinityRecords> records = nullptr) noexcept;

  // Makes slots below `count` usable.
  void reserve(Slot count) {
    if (slots_.size() < count) slots_.resize(count, kEnd);
  }

  // kNone if the client is unknown, or was last used `ttl` ago or longer.
  Slot find(const abi::Address& client, Nanoseconds now, Nanoseconds ttl) const noexcept;
  // Inserts or updates the client as the most recently used one. Without memory it replaces the least recently used
  // client, or is not inserted. `target` is the endpoint of the slot.
  void remember(const abi::Address& client, Slot slot, const SocketAddress& target, Nanoseconds now) noexcept;

  // An entry imported from another backend. `used` may lie before the start of the clock, and wraps around then.
  struct Bound {
    abi::Address client;
    Slot slot;
    Nanoseconds used;
    SocketAddress target;
  };
  // Inserts unknown clients; `bound` is sorted by last use, oldest first. Evicts no client: if there is no room for
  // all, the most recently used ones are inserted.
  void bind(const std::vector<Bound>& bound) noexcept;
  // Visits every client, least recently used first.
  template <class Visit>
  void each(const Visit& visit) const {
    for (Index at = oldest_; at != kEnd; at = entry(at).newer) visit(entry(at).client, entry(at).slot, entry(at).used);
  }

  // Remove at most `most` clients. Return how many; fewer than `most` if no more remain.
  std::size_t drop(Slot slot, std::size_t most) noexcept;                          // clients of a slot
  std::size_t purge(Nanoseconds now, Nanoseconds ttl, std::size_t most) noexcept;  // clients not used for `ttl`

  std::size_t size() const noexcept { return size_; }

 private:
  using Index = std::uint32_t;  // of an entry
  static constexpr Index kEnd = ~Index{0};
  static constexpr std::size_t kChunk = AffinityFile::kRecords;  // entries per allocation; growing copies none of them

  struct Entry {
    abi::Address client;
    Nanoseconds used;
    Slot slot;
    Index next;           // in the bucket, or in the free list
    Index older, newer;   // in the LRU list
    Index before, after;  // in the list of the slot
  };
  static_assert(sizeof(Entry) == 48);

  Entry& entry(Index index) const noexcept { return chunks_[index / kChunk][index % kChunk]; }
  std::size_t bucket(const abi::Address& client) const noexcept;
  Index lookup(const abi::Address& client) const noexcept;
  Index allocate() noexcept;
  Index make_room();  // throws std::bad_alloc
  bool insert(const abi::Address& client, Index index) noexcept;
  void grow_buckets();
  void erase(Index index) noexcept;
  void use(Index index, Nanoseconds now) noexcept;
  void use_before(Index index, Nanoseconds used, Index next) noexcept;
  void unuse(Index index) noexcept;
  void assign(Index index, Slot slot) noexcept;
  void unassign(Index index) noexcept;

  const std::size_t limit_;
  const std::uint64_t seed_;
  const std::unique_ptr<AffinityRecords> records_;  // the record of an entry has the same index
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<Entry[]>> chunks_;
  std::vector<Index> buckets_;  // size is a power of two, or 0
  std::vector<Index> slots_;    // the first client of each slot
  Index free_ = kEnd;
  Index oldest_ = kEnd;
  Index newest_ = kEnd;
};

}  // namespace sluice::userspace
