// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reads what ipset prints of a set. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/ipvs/sets/set_spec.hpp"

namespace sluice::ipvs {

struct Listing {
  std::string name;  // empty: nothing was listed
  std::string type;
  std::string options;                 // those that make another set of it: " timeout 300", " range 0-1023"
  abi::Family family{};                // 0 for types that have none
  std::uint32_t most = 0;              // 0 for types that have none
  std::optional<std::uint64_t> count;  // what the kernel says of the number of entries
  std::vector<SetEntry> entries;
  std::uint64_t unread = 0;  // lines that are no entry of ours; all, if the type is none of ours
};

// Takes a listing in pieces, cut anywhere. One object for one set.
class ListingParser {
 public:
  // `listing` outlives this.
  explicit ListingParser(Listing& listing) noexcept : listing_(listing) {}
  void feed(std::string_view piece);
  // The last line may have no end.
  void finish();

 private:
  void line(std::string_view text);
  void header(std::string_view options);

  Listing& listing_;
  std::string rest_;  // of the line before
  bool members_ = false;
  std::optional<SetType> type_;
};

// The type ipset calls so.
std::optional<SetType> parse_type(std::string_view name) noexcept;

// The opposite of to_string(). Protocols by name or number. Empty for anything else, ranges of addresses too.
std::optional<SetEntry> parse_entry(std::string_view text, SetType type, abi::Family family) noexcept;

}  // namespace sluice::ipvs
