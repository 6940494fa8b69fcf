// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The input of one iptables-restore --noflush, and what it says when it refuses it.
//
// Inside a table: chains first (a declaration makes the chain, or empties it), then
// rules that go, then rules that come, in the order they were added, then chains that
// go. Tables come in the order filter, nat, mangle: a service that gets its first
// endpoint loses its REJECT just before it gets its DNAT, never the other way round.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::netfilter {

enum class Table : unsigned char { kFilter = 0, kNat = 1, kMangle = 2 };
inline constexpr std::size_t kTables = 3;
std::string_view table_name(Table table) noexcept;

class RestoreInput {
 public:
  // Whom a line is for: a number from 2 up for each owner in the order they came.
  using Owner = std::size_t;
  static constexpr Owner kCommon = 0;     // for nobody in particular
  static constexpr Owner kLeftovers = 1;  // takes away what nobody wants any more
  static constexpr Owner kFirstOwner = 2;
  using Chosen = std::function<bool(Owner)>;

  // Whom the lines added from now on are for; empty: kCommon.
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
  // Lines that do something; headers and COMMIT do not count.
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
  // Line `number` of text(), counted from 1; empty when it is no line of ours.
  std::optional<Line> find_line(std::size_t number) const;
  // Which COMMIT line `number` belongs to, counted from 0.
  std::optional<std::size_t> find_commit(std::size_t number) const;

  // What COMMIT number `commit` ends, as far as it is for a chosen owner: one COMMIT, so
  // the kernel takes all of it or nothing.
  RestoreInput part(std::size_t commit, const Chosen& chosen) const;
  // Takes back the rules that were inserted for the owners chosen in the COMMITs chosen.
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
  // What one COMMIT ends. Tables are committed one after the other, so when both filter
  // and nat change, filter rules that go are taken away last: a Service that gains its
  // first endpoint is translated before it stops being rejected, and one that loses its
  // last is rejected before it stops being translated. No packet meets neither.
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

// The line a failed restore complains about; empty when it names none. Knows the forms
// "line 5 failed", "line 5: RULE_APPEND failed (…)" and "Error occurred at line: 5".
std::optional<std::size_t> failed_line(std::string_view complaint);

// The exit status that means "the lock or another resource was not available".
inline constexpr int kResourceProblem = 4;

}  // namespace sluice::netfilter
