// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/restore.hpp"

#include <utility>

#include "lib/number.hpp"

namespace sluice::netfilter {

void RestoreInput::Lines::add(Owner owner, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) text.append(word);
  text.push_back('\n');
  owners.push_back(owner);
}

// Visits each line, without its newline, and its owner.
template <class Visit>
void RestoreInput::Lines::each(Visit visit) const {
  std::size_t begin = 0;
  for (const Owner owner : owners) {
    const std::size_t end = text.find('\n', begin);
    visit(std::string_view(text).substr(begin, end - begin), owner);
    begin = end + 1;
  }
}

std::size_t RestoreInput::Section::lines() const noexcept {
  return chains.owners.size() + removals.owners.size() + rules.owners.size() + chain_removals.owners.size();
}

void RestoreInput::set_owner(std::string_view owner) {
  if (!owner.empty() && owners_.back() != owner) owners_.emplace_back(owner);
  current_ = owner.empty() ? kCommon : owners_.size() - 1;
}

void RestoreInput::declare(Table table, std::string_view chain) {
  section(table).chains.add(current_, {":", chain, " - [0:0]"});
}
void RestoreInput::append(Table table, std::string_view chain, std::string_view rule) {
  section(table).rules.add(current_, {"-A ", chain, " ", rule});
}
void RestoreInput::insert(Table table, std::string_view chain, std::string_view rule) {
  section(table).rules.add(current_, {"-I ", chain, " ", rule});
}
void RestoreInput::remove(Table table, std::string_view chain, std::string_view rule) {
  section(table).removals.add(current_, {"-D ", chain, " ", rule});
}
void RestoreInput::remove_chain(Table table, std::string_view chain) {
  section(table).chain_removals.add(current_, {"-X ", chain});
}

std::size_t RestoreInput::lines() const noexcept {
  std::size_t count = 0;
  for (const Section& part : sections_) count += part.lines();
  return count;
}

std::size_t RestoreInput::lines(Table table) const noexcept {
  return sections_[static_cast<std::size_t>(table)].lines();
}

std::vector<RestoreInput::Block> RestoreInput::blocks() const {
  std::vector<Block> out;
  const auto add = [&](Table table, std::vector<SectionPart> parts) {
    std::erase_if(parts, [&](SectionPart part) { return (section(table).*part).owners.empty(); });
    if (!parts.empty()) out.push_back({table, std::move(parts)});
  };
  const bool filter_removals_last = lines(Table::kNat) != 0;
  for (std::size_t i = 0; i < kTables; ++i) {
    const Table table = static_cast<Table>(i);
    if (table == Table::kFilter && filter_removals_last) {
      add(table, {&Section::chains, &Section::rules});
    } else {
      add(table, {&Section::chains, &Section::removals, &Section::rules, &Section::chain_removals});
    }
  }
  if (filter_removals_last) add(Table::kFilter, {&Section::removals, &Section::chain_removals});
  return out;
}

std::string RestoreInput::text() const {
  std::string text;
  for (const Block& block : blocks()) {
    text.append("*").append(table_name(block.table)).append("\n");
    for (const SectionPart part : block.parts) text.append((section(block.table).*part).text);
    text.append("COMMIT\n");
  }
  return text;
}

std::optional<RestoreInput::Line> RestoreInput::find_line(std::size_t number) const {
  std::size_t at = 1;
  for (const Block& block : blocks()) {
    ++at;  // the header
    for (const SectionPart part : block.parts) {
      const Lines& lines = section(block.table).*part;
      if (number < at) return std::nullopt;
      if (number - at < lines.owners.size()) {
        const std::size_t index = number - at;
        std::size_t begin = 0;
        for (std::size_t skip = 0; skip < index; ++skip) begin = lines.text.find('\n', begin) + 1;
        return Line{lines.text.substr(begin, lines.text.find('\n', begin) - begin), lines.owners[index]};
      }
      at += lines.owners.size();
    }
    ++at;  // COMMIT
  }
  return std::nullopt;
}

std::optional<std::size_t> RestoreInput::find_commit(std::size_t number) const {
  std::size_t end = 0;
  std::size_t commit = 0;
  for (const Block& block : blocks()) {
    end += 2;  // the header and COMMIT
    for (const SectionPart part : block.parts) end += (section(block.table).*part).owners.size();
    if (number != 0 && number <= end) return commit;
    ++commit;
  }
  return std::nullopt;
}

RestoreInput RestoreInput::part(std::size_t commit, const Chosen& chosen) const {
  RestoreInput made;
  made.owners_ = owners_;
  const std::vector<Block> all = blocks();
  const Block& block = all.at(commit);
  for (const SectionPart part : block.parts) {
    (section(block.table).*part).each([&](std::string_view line, Owner owner) {
      if (chosen(owner)) (made.section(block.table).*part).add(owner, {line});
    });
  }
  return made;
}

RestoreInput RestoreInput::undo_insertions(const std::function<bool(Owner, std::size_t commit)>& chosen) const {
  RestoreInput made;
  made.owners_ = owners_;
  const std::vector<Block> all = blocks();
  for (std::size_t commit = 0; commit < all.size(); ++commit) {
    const Table table = all[commit].table;
    for (const SectionPart part : all[commit].parts) {
      (section(table).*part).each([&](std::string_view line, Owner owner) {
        if (line.starts_with("-I ") && chosen(owner, commit)) {
          made.section(table).removals.add(owner, {"-D ", line.substr(3)});
        }
      });
    }
  }
  return made;
}

std::optional<std::size_t> failed_line(std::string_view error_output) {
  for (const std::string_view before : {std::string_view("at line: "), std::string_view("line ")}) {
    for (std::size_t at = error_output.find(before); at != std::string_view::npos;
         at = error_output.find(before, at + 1)) {
      std::string_view behind = error_output.substr(at + before.size());
      const auto number = lib::take_number<std::size_t>(behind);
      if (!number || *number == 0) continue;
      if (before == "at line: " || behind.starts_with(" failed") || behind.starts_with(":")) return number;
    }
  }
  return std::nullopt;
}

}  // namespace sluice::netfilter
