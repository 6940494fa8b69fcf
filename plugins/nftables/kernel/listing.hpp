// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Our table as listed from the kernel, or as an earlier process saved it. A value, made for one comparison.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/nftables/elements.hpp"
#include "plugins/nftables/kernel/batch.hpp"
#include "plugins/nftables/layout/rule.hpp"
#include "plugins/nftables/layout/set_spec.hpp"

namespace sluice::nftables {

// The part of a comment that nft shows.
inline constexpr std::size_t kCommentRoom = 128;

// A hash of the first kCommentRoom bytes: comments are not stored, as there may be tens of thousands.
std::uint64_t comment_hash(std::string_view comment) noexcept;

// Elements of one set, stored compactly and sorted by key.
class RecordTable {
 public:
  RecordTable() = default;
  RecordTable(std::size_t key_size, std::size_t data_size) : key_size_(key_size), data_size_(data_size) {}

  void add(const void* key, const void* data, std::uint64_t comment);
  void sort();  // once, after the last add(); removes duplicate keys
  std::size_t size() const noexcept { return order_.size(); }
  // The place of a key; empty if there is none. REQUIRES: sort() was called.
  std::optional<std::size_t> find(const Key& key) const;
  // The first place whose key is not less than `prefix`, which may be shorter than a key.
  std::size_t lower_bound(const Key& prefix) const;
  Key key(std::size_t place) const;
  Data data(std::size_t place) const;
  std::uint64_t comment(std::size_t place) const noexcept;
  // Marks a wanted element. Elements that are not marked are removed.
  void mark(std::size_t place) { marked_[place] = true; }
  bool is_marked(std::size_t place) const { return marked_[place]; }

 private:
  std::size_t key_size_ = 0;
  std::size_t data_size_ = 0;
  std::vector<std::uint8_t> bytes_;  // key and data of each, contiguous
  std::vector<std::uint64_t> comments_;
  std::vector<std::uint32_t> order_;       // places to positions in bytes_
  std::vector<bool> marked_;
};

struct KnownChain {
  bool is_base = false;
  BaseHook hook;
  std::vector<Rule> rules;
};

struct Listing {
  bool exists = false;
  std::map<std::string, SetSpec, std::less<>> sets;
  std::map<std::string, KnownChain, std::less<>> chains;
  std::vector<DispatchWrite> dispatch;         // `remove` is never set
  std::array<RecordTable, kSetCount> records;  // only of sets that have our shape
  std::uint32_t generation = 0;                // generation of nf_tables at the listing
  bool saved = false;                          // not read from the kernel: an earlier process has saved it
};

}  // namespace sluice::nftables
