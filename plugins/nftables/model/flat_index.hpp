// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A hash index from keys to positions with 8 bytes per slot, as there is one per frontend. The caller compares keys.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::nftables {

class FlatIndex {
 public:
  // The position with this hash for which `is_it(place)` is true.
  template <class IsIt>
  std::optional<std::uint32_t> find(std::uint64_t hash, IsIt&& is_it) const {
    if (slots_.empty()) return std::nullopt;
    const std::uint32_t part = part_of(hash);
    for (std::size_t i = home(part); slots_[i].place != kEmpty; i = next(i)) {
      if (slots_[i].part == part && is_it(slots_[i].place)) return slots_[i].place;
    }
    return std::nullopt;
  }

  void insert(std::uint64_t hash, std::uint32_t place) {
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();
    put({part_of(hash), place});
    ++size_;
  }

  // Removes one of several equal entries. REQUIRES: inserted with the same hash and place.
  void erase(std::uint64_t hash, std::uint32_t place) {
    const std::uint32_t part = part_of(hash);
    std::size_t hole = home(part);
    while (slots_[hole].part != part || slots_[hole].place != place) hole = next(hole);
    // Move later entries of the probe sequence into the hole, so that searches need no tombstones.
    for (std::size_t i = next(hole); slots_[i].place != kEmpty; i = next(i)) {
      const std::size_t way = (i - home(slots_[i].part)) & mask();
      if (way < ((i - hole) & mask())) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole] = Slot{};
    --size_;
  }

  void clear() {
    slots_ = {};
    size_ = 0;
  }
  std::size_t size() const noexcept { return size_; }

 private:
  static constexpr std::uint32_t kEmpty = 0xffffffff;
  struct Slot {
    std::uint32_t part = 0;
    std::uint32_t place = kEmpty;
  };

  static std::uint32_t part_of(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash ^ hash >> 32); }
  std::size_t mask() const noexcept { return slots_.size() - 1; }
  std::size_t home(std::uint32_t part) const noexcept { return part & mask(); }
  std::size_t next(std::size_t i) const noexcept { return (i + 1) & mask(); }
  void put(const Slot& slot) {
    std::size_t i = home(slot.part);
    while (slots_[i].place != kEmpty) i = next(i);
    slots_[i] = slot;
  }
  void grow() {
    std::vector<Slot> before(slots_.empty() ? 16 : slots_.size() * 2);
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.place != kEmpty) put(slot);
    }
  }

  std::vector<Slot> slots_;  // its size is a power of two
  std::size_t size_ = 0;
};

}  // namespace sluice::nftables
