// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The input of one iptables-restore --noflush, and the errors it reports.
//
// Order inside a table: chain declarations (each creates or empties a chain), rule
// deletions, new rules in the order they were added, chain deletions. The order of tables is
// filter, nat, mangle; see Block for the removal of filter rules.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "names/chains.hpp"

namespace sluice::netfilter {

using names::Table;
using names::table_name;
inline constexpr std::size_t kTables = 3;

class RestoreInput {
 public:
  // The service port that a line belongs to: numbers from 2, in the order of set_owner().
  using Owner = std::size_t;
  static constexpr Owner kCommon = 0;     // lines that no single service port owns
  static constexpr Owner kLeftovers = 1;  // removal of leftover state
  static constexpr Owner kFirstOwner = 2;
  using Chosen = std::function<bool(Owner)>;

  // The owner of the lines that are added from now on; empty: kCommon.
  void set_owner(std::string_view owner);
  void set_leftovers() noexcept { current_ = kLeftovers; }
  Owner owners_end() const noexcept { return owners_.size(); }
  const std::string& owner_name(Owner owner) const { return owners_[owner]; }

  void declare(Table table, std::string_view chain);
  void append(Table table, std::string_view chain, std::string_view rule);
  void insert(Table table, std::string_view chain, std::string_view rule);  // at position 1
  void remove(Table table, std::string_view chain, std::string_view rule);
  void remove_chain(Table table, std::string_view chain);

  bool empty() const noexcept { return lines() == 0; }
  // Lines, excluding table headers and COMMIT.
  std::size_t lines() const noexcept;
  std::size_t lines(Table table) const noexcept;
  // COMMITs of text(); each is one transaction in the kernel.
  std::size_t commits() const { return blocks().size(); }
  std::string text() const;

  struct Line {
    std::string text;
    Owner owner;
    bool removes() const { return text.starts_with("-D") || text.starts_with("-X"); }
  };
  // Line `number` of text(), counted from 1; empty for a header, a COMMIT or a number out of range.
  std::optional<Line> find_line(std::size_t number) const;
  // Which COMMIT line `number` belongs to, counted from 0.
  std::optional<std::size_t> find_commit(std::size_t number) const;

  // The lines of COMMIT number `commit` that belong to chosen owners. It is one COMMIT, so
  // the kernel applies all of them or none.
  RestoreInput part(std::size_t commit, const Chosen& chosen) const;
  // Deletes the rules that the chosen COMMITs inserted for the chosen owners.
  RestoreInput undo_insertions(const std::function<bool(Owner, std::size_t commit)>& chosen) const;

 private:
  // A run of lines in one buffer, with the owner of each.
  struct Lines {
    std::string text;
    std::vector<Owner> owners;
    void add(Owner owner, std::initializer_list<std::string_view> words);
    template <class Visit>
    void each(Visit visit) const;
  };
  struct Section {
    Lines chains;
    Lines removals;
    Lines rules;
    Lines chain_removals;
    std::size_t lines() const noexcept;
  };
  using SectionPart = Lines Section::*;
  // The lines of one COMMIT. Tables are committed one after the other, so if filter and nat
  // change, filter rules are removed last: a Service that gains its first endpoint gets its
  // DNAT before its REJECT goes, and one that loses its last endpoint gets its REJECT before
  // its DNAT goes. At every instant at least one of them is there.
  struct Block {
    Table table;
    std::vector<SectionPart> parts;
  };
  std::vector<Block> blocks() const;
  Section& section(Table table) noexcept { return sections_[static_cast<std::size_t>(table)]; }
  const Section& section(Table table) const noexcept { return sections_[static_cast<std::size_t>(table)]; }

  std::array<Section, kTables> sections_;
  std::vector<std::string> owners_ = std::vector<std::string>(kFirstOwner);  // the two above have no name
  Owner current_ = kCommon;
};

// The line number in the error message of a failed restore; empty if it names none. Parses
// "line 5 failed", "line 5: RULE_APPEND failed (…)" and "Error occurred at line: 5".
std::optional<std::size_t> failed_line(std::string_view error_output);

// The exit status that means "the lock or another resource was not available".
inline constexpr int kResourceProblem = 4;

}  // namespace sluice::netfilter
