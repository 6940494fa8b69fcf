// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/listing.hpp"

#include <algorithm>
#include <cstring>

namespace sluice::nftables {

std::uint64_t comment_hash(std::string_view comment) noexcept {
  // A collision only means that a wrong comment is not repaired.
  return hash_bytes(comment.data(), std::min(comment.size(), kCommentRoom));
}

void RecordTable::add(const void* key, const void* data, std::uint64_t comment) {
  const auto* const key_bytes = static_cast<const std::uint8_t*>(key);
  bytes_.insert(bytes_.end(), key_bytes, key_bytes + key_size_);
  if (data_size_ != 0) {
    const auto* const data_bytes = static_cast<const std::uint8_t*>(data);
    bytes_.insert(bytes_.end(), data_bytes, data_bytes + data_size_);
  }
  comments_.push_back(comment);
}

void RecordTable::sort() {
  const std::size_t step = key_size_ + data_size_;
  order_.resize(comments_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<std::uint32_t>(i);
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::memcmp(bytes_.data() + a * step, bytes_.data() + b * step, key_size_) < 0;
  });
  // The kernel may list an element twice if it resizes the set meanwhile, which is no transaction. A second copy that
  // is not marked would cause the removal of the element.
  const auto same = [&](std::uint32_t a, std::uint32_t b) {
    return std::memcmp(bytes_.data() + a * step, bytes_.data() + b * step, key_size_) == 0;
  };
  order_.erase(std::unique(order_.begin(), order_.end(), same), order_.end());
  marked_.assign(order_.size(), false);
}

std::size_t RecordTable::lower_bound(const Key& prefix) const {
  const std::size_t step = key_size_ + data_size_;
  const std::size_t common = std::min(prefix.size(), key_size_);
  const auto place = std::lower_bound(order_.begin(), order_.end(), prefix, [&](std::uint32_t at, const Key& wanted) {
    const int order = std::memcmp(bytes_.data() + at * step, wanted.data(), common);
    return order != 0 ? order < 0 : key_size_ < wanted.size();
  });
  return static_cast<std::size_t>(place - order_.begin());
}

std::optional<std::size_t> RecordTable::find(const Key& key) const {
  if (key.size() != key_size_) return std::nullopt;
  const std::size_t place = lower_bound(key);
  const std::size_t step = key_size_ + data_size_;
  if (place == order_.size() || std::memcmp(bytes_.data() + order_[place] * step, key.data(), key_size_) != 0) {
    return std::nullopt;
  }
  return place;
}

Key RecordTable::key(std::size_t place) const {
  Key key;
  key.append(bytes_.data() + order_[place] * (key_size_ + data_size_), key_size_);
  return key;
}

Data RecordTable::data(std::size_t place) const {
  Data data;
  if (data_size_ != 0) data.append(bytes_.data() + order_[place] * (key_size_ + data_size_) + key_size_, data_size_);
  return data;
}

std::uint64_t RecordTable::comment(std::size_t place) const noexcept { return comments_[order_[place]]; }

}  // namespace sluice::nftables
