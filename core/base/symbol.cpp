// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/symbol.hpp"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

namespace sluice::base {
namespace {

class Table {
 public:
  Table() { intern(""); }

  std::uint32_t intern(std::string_view text) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto it = ids_.find(text); it != ids_.end()) return it->second;
    }
    const std::unique_lock lock(mutex_);
    if (const auto it = ids_.find(text); it != ids_.end()) return it->second;
    const auto id = static_cast<std::uint32_t>(texts_.size());
    texts_.emplace_back(text);  // a deque never moves its elements, so views into them stay
    ids_.emplace(texts_.back(), id);
    return id;
  }

  std::string_view text(std::uint32_t id) {
    const std::shared_lock lock(mutex_);
    return texts_[id];
  }

 private:
  std::shared_mutex mutex_;
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

Table& table() {
  static Table instance;
  return instance;
}

}  // namespace

Symbol::Symbol(std::string_view text) : id_(text.empty() ? 0 : table().intern(text)) {}

std::string_view Symbol::text() const { return id_ == 0 ? std::string_view() : table().text(id_); }

}  // namespace sluice::base
