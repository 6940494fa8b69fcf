// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/symbol.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/mutex.hpp"

namespace sluice::base {
namespace {

// A text and its holders. A slot never moves, so a holder reads the text without a lock.
struct Slot {
  std::atomic<std::uint32_t> holders{0};
  bool used = false;  // under the lock of the table
  std::string text;   // changes only while it has no holders, under the lock of the table
};

class Table {
 public:
  // Returns the number of a nonempty text and adds a reference to it.
  std::uint32_t intern(std::string_view text) {
    {
      const lib::SharedLock lock(mutex_);
      if (const auto it = ids_.find(text); it != ids_.end()) return held(it->second);
    }
    const lib::Lock lock(mutex_);
    if (const auto it = ids_.find(text); it != ids_.end()) return held(it->second);
    const std::uint32_t id = free_id();
    Slot& slot = at(id);
    try {
      slot.text = text;
      ids_.emplace(slot.text, id);
    } catch (...) {
      free_.push_back(id);  // does not allocate: free_id() has removed an entry
      throw;
    }
    slot.used = true;
    return held(id);
  }

  void release(std::uint32_t id) noexcept {
    Slot& slot = at(id);
    if (slot.holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const lib::Lock lock(mutex_);
    // Another thread may have added a reference, or released the last one, since the counter reached zero.
    if (!slot.used || slot.holders.load(std::memory_order_acquire) != 0) return;
    ids_.erase(slot.text);
    slot.text = std::string();
    slot.used = false;
    free_.push_back(id);
  }

  Slot& at(std::uint32_t id) noexcept { return (*blocks_[id / kBlock].load(std::memory_order_acquire))[id % kBlock]; }

  std::size_t size() {
    const lib::SharedLock lock(mutex_);
    return ids_.size();
  }

 private:
  static constexpr std::uint32_t kBlock = 512;
  static constexpr std::uint32_t kBlocks = 65'536;
  using Block = std::array<Slot, kBlock>;
  // Static: unused pages take no memory.
  inline static std::array<std::atomic<Block*>, kBlocks> blocks_{};

  std::uint32_t held(std::uint32_t id) noexcept {
    at(id).holders.fetch_add(1, std::memory_order_relaxed);
    return id;
  }

  // Reserves space in free_ for every slot, so that release() cannot fail.
  std::uint32_t free_id() SLUICE_REQUIRES(mutex_) {
    if (free_.empty()) {
      const std::uint32_t block = made_ / kBlock;
      if (block == kBlocks) throw std::length_error("more than 33 million different names at a time");
      free_.reserve(made_ + kBlock);
      owned_.push_back(std::make_unique<Block>());
      blocks_[block].store(owned_.back().get(), std::memory_order_release);
      // Number 0 is the empty text.
      for (std::uint32_t i = kBlock; i > (block == 0 ? 1 : 0); --i) free_.push_back(made_ + i - 1);
      made_ += kBlock;
    }
    const std::uint32_t id = free_.back();
    free_.pop_back();
    return id;
  }

  lib::SharedMutex mutex_;
  std::vector<std::unique_ptr<Block>> owned_ SLUICE_GUARDED_BY(mutex_);
  std::unordered_map<std::string_view, std::uint32_t> ids_ SLUICE_GUARDED_BY(mutex_);
  std::vector<std::uint32_t> free_ SLUICE_GUARDED_BY(mutex_);
  std::uint32_t made_ SLUICE_GUARDED_BY(mutex_) = 0;
};

// Never destroyed: static objects may hold Symbols.
Table& table() {
  static Table& instance = *new Table;
  return instance;
}

}  // namespace

Symbol::Symbol(std::string_view text) : id_(text.empty() ? 0 : table().intern(text)) {}

std::string_view Symbol::text() const noexcept {
  return id_ == 0 ? std::string_view() : std::string_view(table().at(id_).text);
}

std::size_t Symbol::held() { return table().size(); }

void Symbol::hold(std::uint32_t id) noexcept { table().at(id).holders.fetch_add(1, std::memory_order_relaxed); }

void Symbol::release(std::uint32_t id) noexcept { table().release(id); }

}  // namespace sluice::base
