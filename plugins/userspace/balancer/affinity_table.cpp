// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/balancer/affinity_table.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "plugins/userspace/balancer/random.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::userspace {

AffinityTable::AffinityTable(std::size_t limit, std::uint64_t seed, std::unique_ptr<AffinityRecords> records) noexcept
    : limit_(std::clamp<std::size_t>(limit, 1, kEnd)), seed_(seed), records_(std::move(records)) {}

AffinityTable::Slot AffinityTable::find(const abi::Address& client, Nanoseconds now, Nanoseconds ttl) const noexcept {
  const Index index = lookup(client);
  if (index == kEnd || now - entry(index).used >= ttl) return kNone;
  return entry(index).slot;
}

void AffinityTable::remember(const abi::Address& client, Slot slot, const SocketAddress& target,
                             Nanoseconds now) noexcept {
  Index index = lookup(client);
  if (index == kEnd) {
    index = allocate();
    if (!insert(client, index)) return;
  } else {
    unuse(index);
    if (entry(index).slot == slot) {
      use(index, now);
      if (records_ != nullptr) records_->renew(index, now);
      return;
    }
    unassign(index);
  }
  use(index, now);
  assign(index, slot);
  if (records_ != nullptr) records_->write(index, client, target, now);
}

bool AffinityTable::insert(const abi::Address& client, Index index) noexcept {
  if (index == kEnd) return false;
  entry(index).client = client;
  Index& first = buckets_[bucket(client)];
  entry(index).next = first;
  first = index;
  ++size_;
  return true;
}

// Merges two sorted lists: walks once through the existing clients and once through the new ones.
void AffinityTable::bind(const std::vector<Bound>& bound) noexcept {
  const std::size_t room = limit_ - size_;
  std::size_t skipped = bound.size() > room ? bound.size() - room : 0;
  Index next = oldest_;
  for (const Bound& one : bound) {
    if (skipped > 0) {
      --skipped;
      continue;
    }
    if (lookup(one.client) != kEnd) continue;
    Index index = kEnd;
    try {
      index = make_room();
    } catch (const std::bad_alloc&) {
      return;
    }
    if (!insert(one.client, index)) return;
    while (next != kEnd && static_cast<std::int64_t>(entry(next).used - one.used) <= 0) next = entry(next).newer;
    use_before(index, one.used, next);
    assign(index, one.slot);
    if (records_ != nullptr) records_->write(index, one.client, one.target, one.used);
  }
}

std::size_t AffinityTable::drop(Slot slot, std::size_t most) noexcept {
  std::size_t dropped = 0;
  while (dropped < most && slot < slots_.size() && slots_[slot] != kEnd) {
    erase(slots_[slot]);
    ++dropped;
  }
  return dropped;
}

std::size_t AffinityTable::purge(Nanoseconds now, Nanoseconds ttl, std::size_t most) noexcept {
  std::size_t dropped = 0;
  while (dropped < most && oldest_ != kEnd && now - entry(oldest_).used >= ttl) {
    erase(oldest_);
    ++dropped;
  }
  return dropped;
}

std::size_t AffinityTable::bucket(const abi::Address& client) const noexcept {
  std::uint64_t half[2];
  std::memcpy(half, client.bytes, sizeof(half));
  return Random::mix(Random::mix(half[0] ^ seed_) ^ half[1]) & (buckets_.size() - 1);
}

AffinityTable::Index AffinityTable::lookup(const abi::Address& client) const noexcept {
  if (buckets_.empty()) return kEnd;
  Index index = buckets_[bucket(client)];
  while (index != kEnd && entry(index).client != client) index = entry(index).next;
  return index;
}

// Returns an entry that is in no list; kEnd if there is no memory even for the first one.
AffinityTable::Index AffinityTable::allocate() noexcept {
  if (size_ >= limit_) erase(oldest_);
  try {
    return make_room();
  } catch (const std::bad_alloc&) {
    if (oldest_ != kEnd) erase(oldest_);
    if (free_ == kEnd || buckets_.empty()) return kEnd;
  }
  const Index index = free_;
  free_ = entry(index).next;
  return index;
}

AffinityTable::Index AffinityTable::make_room() {
  if (size_ == buckets_.size()) grow_buckets();
  if (free_ == kEnd) {
    const std::size_t first = chunks_.size() * kChunk;
    if (records_ != nullptr) records_->add_block(chunks_.size());
    chunks_.push_back(std::make_unique<Entry[]>(kChunk));
    for (std::size_t i = kChunk; i-- > 0;) {
      entry(static_cast<Index>(first + i)).next = free_;
      free_ = static_cast<Index>(first + i);
    }
  }
  const Index index = free_;
  free_ = entry(index).next;
  return index;
}

void AffinityTable::grow_buckets() {
  std::vector<Index> bigger(std::max(kChunk, buckets_.size() * 2), kEnd);
  buckets_.swap(bigger);
  for (Index index : bigger) {
    while (index != kEnd) {
      const Index next = entry(index).next;
      Index& first = buckets_[bucket(entry(index).client)];
      entry(index).next = first;
      first = index;
      index = next;
    }
  }
}

void AffinityTable::erase(Index index) noexcept {
  if (records_ != nullptr) records_->erase(index);
  unuse(index);
  unassign(index);
  Index* link = &buckets_[bucket(entry(index).client)];
  while (*link != index) link = &entry(*link).next;
  *link = entry(index).next;
  entry(index).next = free_;
  free_ = index;
  if (--size_ != 0) return;
  free_ = kEnd;
  if (records_ != nullptr) records_->clear();
  chunks_.clear();
  chunks_.shrink_to_fit();
  buckets_.clear();
  buckets_.shrink_to_fit();
}

void AffinityTable::use(Index index, Nanoseconds now) noexcept { use_before(index, now, kEnd); }

// `next` is kEnd: append as the most recently used.
void AffinityTable::use_before(Index index, Nanoseconds used, Index next) noexcept {
  Entry& placed = entry(index);
  placed.used = used;
  placed.older = next == kEnd ? newest_ : entry(next).older;
  placed.newer = next;
  (placed.older == kEnd ? oldest_ : entry(placed.older).newer) = index;
  (next == kEnd ? newest_ : entry(next).older) = index;
}

void AffinityTable::unuse(Index index) noexcept {
  const Entry& used = entry(index);
  (used.older == kEnd ? oldest_ : entry(used.older).newer) = used.newer;
  (used.newer == kEnd ? newest_ : entry(used.newer).older) = used.older;
}

void AffinityTable::assign(Index index, Slot slot) noexcept {
  Entry& assigned = entry(index);
  assigned.slot = slot;
  assigned.before = kEnd;
  assigned.after = slots_[slot];
  if (slots_[slot] != kEnd) entry(slots_[slot]).before = index;
  slots_[slot] = index;
}

void AffinityTable::unassign(Index index) noexcept {
  const Entry& assigned = entry(index);
  (assigned.before == kEnd ? slots_[assigned.slot] : entry(assigned.before).after) = assigned.after;
  if (assigned.after != kEnd) entry(assigned.after).before = assigned.before;
}

}  // namespace sluice::userspace
