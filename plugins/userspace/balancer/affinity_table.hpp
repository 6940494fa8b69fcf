// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which endpoint a client is led to: client address -> slot of the endpoint, when it was
// last used. Bounded: beyond its limit the client not seen longest is forgotten.
//
// 48 bytes for each client and 4 to 8 for finding it. All operations on one client take
// constant time, dropping takes time for what is dropped. Memory is returned when the
// last client goes. One thread at a time; `now` never goes back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sluice/abi/types.hpp"

namespace sluice::userspace {

class AffinityTable {
 public:
  using Slot = std::uint32_t;
  using Nanoseconds = std::uint64_t;
  static constexpr Slot kNone = ~Slot{0};

  // `limit` is at least 1. `seed` keeps clients from choosing addresses that collide.
  AffinityTable(std::size_t limit, std::uint64_t seed) noexcept;

  // Slots below `count` may be used from now on.
  void reserve(Slot count) {
    if (slots_.size() < count) slots_.resize(count, kEnd);
  }

  // kNone when it is not known, or was last used `ttl` ago or longer.
  Slot find(const abi::Address& client, Nanoseconds now, Nanoseconds ttl) const noexcept;
  // Inserts or rewrites; the client is the one used last. Without memory for it, somebody else is forgotten, or it is
  // not remembered.
  void remember(const abi::Address& client, Slot slot, Nanoseconds now) noexcept;

  // One whose last use was elsewhere. `used` may lie before the clock's beginning, and wraps around then.
  struct Bound {
    abi::Address client;
    Slot slot;
    Nanoseconds used;
  };
  // Inserts those that are not known; `bound` is sorted by use, earliest first. Nobody else is forgotten: where there
  // is no room for all of them, those used last have it.
  void bind(const std::vector<Bound>& bound) noexcept;
  // Every client, the one not used longest first.
  template <class Visit>
  void each(const Visit& visit) const {
    for (Index at = oldest_; at != kEnd; at = entry(at).newer) visit(entry(at).client, entry(at).slot, entry(at).used);
  }

  // Forget clients, at most `most`; return how many, fewer than `most` when none is left.
  std::size_t drop(Slot slot, std::size_t most) noexcept;                          // those of a slot
  std::size_t purge(Nanoseconds now, Nanoseconds ttl, std::size_t most) noexcept;  // those not used for `ttl`

  std::size_t size() const noexcept { return size_; }

 private:
  using Index = std::uint32_t;  // of an entry
  static constexpr Index kEnd = ~Index{0};
  static constexpr std::size_t kChunk = 32;  // entries; growing copies none of them

  struct Entry {
    abi::Address client;
    Nanoseconds used;
    Slot slot;
    Index next;           // of the same bucket; or free
    Index older, newer;   // all, by use
    Index before, after;  // those of the same slot
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
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<Entry[]>> chunks_;
  std::vector<Index> buckets_;  // a power of two, or none
  std::vector<Index> slots_;    // the first of each
  Index free_ = kEnd;
  Index oldest_ = kEnd;
  Index newest_ = kEnd;
};

}  // namespace sluice::userspace
