// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Parses ipset's listing of a set. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/ipvs/sets/set_spec.hpp"

namespace sluice::ipvs {

struct Listing {
  std::string name;  // empty: no listing
  std::string type;
  std::string options;                 // those that make it a different set: " timeout 300", " range 0-1023"
  abi::Family family{};                // 0 for types that have none
  std::uint32_t maxelem = 0;           // 0 for types that have none
  std::optional<std::uint64_t> count;  // the kernel's number of entries
  std::vector<SetEntry> entries;
  std::uint64_t unread = 0;  // lines that are not an entry of a known type
};

// Accepts a listing in pieces, split anywhere. One object per set.
class ListingParser {
 public:
  // `listing` outlives this.
  explicit ListingParser(Listing& listing) noexcept : listing_(listing) {}
  void append(std::string_view piece);
  // The last line may lack a newline.
  void finish();

 private:
  void line(std::string_view text);
  void header(std::string_view options);

  Listing& listing_;
  std::string rest_;  // incomplete last line
  bool members_ = false;
  std::optional<SetType> type_;
};

// The set type with this ipset name.
std::optional<SetType> parse_type(std::string_view name) noexcept;

// The opposite of to_string(). Protocols by name or number. Empty for anything else, including address ranges.
std::optional<SetEntry> parse_entry(std::string_view text, SetType type, abi::Family family) noexcept;

}  // namespace sluice::ipvs
