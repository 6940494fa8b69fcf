// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Our table as the kernel has it. A value, made for one comparison.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/nftables/kernel/batch.hpp"
#include "plugins/nftables/layout/rule.hpp"
#include "plugins/nftables/layout/set_spec.hpp"
#include "plugins/nftables/values.hpp"

namespace sluice::nftables {

// What nft shows of a comment, and the kernel keeps of ours.
inline constexpr std::size_t kCommentRoom = 128;

// A number that stands for a comment: there may be tens of thousands. What does not fit into kCommentRoom does not count.
std::uint64_t comment_hash(std::string_view comment) noexcept;

// Elements of one set in little memory, sorted by key.
class RecordTable {
 public:
  RecordTable() = default;
  RecordTable(std::size_t key_size, std::size_t data_size) : key_size_(key_size), data_size_(data_size) {}

  void add(const void* key, const void* data, std::uint64_t comment);
  void sort();  // once, after the last add(); of a key that is there twice one stays
  std::size_t size() const noexcept { return order_.size(); }
  // REQUIRES: sorted. The place of a key; empty when it is not there.
  std::optional<std::size_t> find(const Key& key) const;
  // The first place whose key is not before `prefix`, which may be shorter than a key.
  std::size_t lower_bound(const Key& prefix) const;
  Key key(std::size_t place) const;
  Data data(std::size_t place) const;
  std::uint64_t comment(std::size_t place) const noexcept;
  // Somebody wants it. What nobody wants goes.
  void mark(std::size_t place) { marked_[place] = true; }
  bool is_marked(std::size_t place) const { return marked_[place]; }

 private:
  std::size_t key_size_ = 0;
  std::size_t data_size_ = 0;
  std::vector<std::uint8_t> bytes_;        // key and data of each, one after the other
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
  std::vector<DispatchWrite> dispatch;                 // none with `remove`
  std::array<RecordTable, kSetCount> records;          // of sets that are there and have our shape
  std::uint32_t generation = 0;                        // of nf_tables, when it was taken
};

}  // namespace sluice::nftables
