// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/sets/set_writer.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace sluice::ipvs {
namespace {

constexpr std::chrono::milliseconds kPause{10};
constexpr unsigned kPauses = 50;  // of all sets together

// What comes behind one set of many.
std::string and_more(std::size_t others) {
  if (others == 0) return "";
  return ", and " + std::to_string(others) + (others == 1 ? " more set is" : " more sets are") + " damaged";
}

// Calls body(set, begin, end) for each run of items of one set.
template <class Body>
void by_set(const std::vector<SetItem>& items, const Body& body) {
  for (std::size_t begin = 0, end = 0; begin < items.size(); begin = end) {
    while (end < items.size() && items[end].set == items[begin].set) ++end;
    body(items[begin].set, begin, end);
  }
}

}  // namespace

SetWriter::SetWriter(SetKernel& kernel, abi::Family family, Wait wait)
    : kernel_(kernel), family_(family), wait_(std::move(wait)) {
  if (!wait_) wait_ = [](std::chrono::milliseconds pause) { std::this_thread::sleep_for(pause); };
}

std::uint32_t SetWriter::filled() const noexcept {
  std::uint32_t bits = 0;
  for (const SetId set : all_sets()) {
    if (!held(set).empty()) bits |= std::uint32_t{1} << static_cast<unsigned>(set);
  }
  return bits;
}

bool SetWriter::fits(SetId set, const SetHeader& header) const {
  const SetType type = spec(set).type;
  return header.type == type_name(type) && (type == SetType::kPorts || header.family == family_);
}

void SetWriter::look() {
  for (const SetId set : all_sets()) {
    const auto header = kernel_.header(set_name(set, family_));
    read(set, header && fits(set, *header) ? header : std::nullopt);
  }
}

void SetWriter::refresh() {
  refused_.clear();
  for (const SetId set : all_sets()) {
    const std::string name = set_name(set, family_);
    // Of a process that ended between making it and swapping it in, or behind that.
    kernel_.destroy(spare_name(set, family_));
    auto header = kernel_.header(name);
    if (!header) {
      kernel_.create(name, spec(set).type, kRoom);
    } else if (!fits(set, *header)) {
      replace(set, *header);
      header.reset();
    }
    read(set, header);
    // What could not be read is no entry of ours: it is left behind.
    if (header && kernel_.has_counts() && header->entries > held(set).size()) rebuild(set, {}, most(set));
  }
}

// Without a header: it is empty and new.
void SetWriter::read(SetId set, const std::optional<SetHeader>& header) {
  SetContents& held = contents(set);
  held.clear();
  const SetType type = spec(set).type;
  most(set) = header ? header->most : type == SetType::kPorts ? 0 : kRoom;
  if (!header) return;
  const std::vector<SetEntry> entries = kernel_.entries(set_name(set, family_), type);
  held.reserve(entries.size());
  held.insert(entries.begin(), entries.end());
}

void SetWriter::replace(SetId set, const SetHeader& header) {
  const std::string name = set_name(set, family_);
  const SetType type = spec(set).type;
  if (kernel_.destroy(name)) {
    kernel_.create(name, type, kRoom);
    return;
  }
  // A rule uses it.
  const std::string spare = spare_name(set, family_);
  make_spare(set, kRoom);
  try {
    kernel_.swap(spare, name);
  } catch (const sdk::Failure& failure) {
    kernel_.destroy(spare);
    if (failure.code() != abi::Code::kKernel) throw;
    const bool other_family = header.type == type_name(type);
    throw sdk::Failure(
        abi::Code::kKernel, name,
        "set " + name + " is " +
            (other_family ? "for the other IP family"
                          : "of type " + header.type + " and not " + std::string(type_name(type))) +
            ", and a rule uses it, so that it cannot be replaced: delete that rule (iptables-save and nft list "
            "ruleset show it); the set is made anew then",
        failure.os_errno());
  }
  kernel_.destroy(spare);
}

void SetWriter::write(SetId set, const std::string& name, const std::vector<SetEntry>& entries) {
  const std::vector<RefusedEntry> refused = kernel_.add(name, spec(set).type, entries);
  SetContents& held = contents(set);
  held.insert(entries.begin(), entries.end());
  for (const RefusedEntry& one : refused) {
    held.erase(one.entry);
    refused_[{set, one.entry}] = one.why;
  }
}

// Makes the set anew with what it holds and `more`, and swaps it in: no packet meets a set with less in it.
void SetWriter::rebuild(SetId set, const std::vector<SetEntry>& more, std::uint32_t room) {
  const std::string name = set_name(set, family_);
  const std::string spare = spare_name(set, family_);
  std::vector<SetEntry> all(held(set).begin(), held(set).end());
  all.insert(all.end(), more.begin(), more.end());
  make_spare(set, room);
  write(set, spare, all);
  kernel_.swap(spare, name);
  most(set) = room;
  // Somebody may be listing it; refresh() finds it otherwise.
  kernel_.destroy(spare);
}

void SetWriter::make_spare(SetId set, std::uint32_t room) {
  const std::string spare = spare_name(set, family_);
  unsigned pauses = kPauses;
  if (!destroy_patiently(spare, pauses)) {
    throw sdk::Failure(abi::Code::kRetry, spare,
                       "set " + spare + " is in use, by a rule or by a program that lists it, so that set " +
                           set_name(set, family_) + " cannot be made anew: delete the rules that name " + spare);
  }
  kernel_.create(spare, spec(set).type, room);
}

void SetWriter::add(const std::vector<SetItem>& items) {
  by_set(items, [&](SetId set, std::size_t begin, std::size_t end) {
    SetContents& held = contents(set);
    std::vector<SetEntry> fresh;
    for (std::size_t i = begin; i < end; ++i) {
      if (held.count(items[i].entry) == 0) fresh.push_back(items[i].entry);
    }
    if (fresh.empty()) return;
    const std::size_t entries = held.size() + fresh.size();
    const std::uint32_t room = most(set);
    if (room != 0 && entries > room) {
      std::uint64_t larger = std::max(room, kRoom);
      while (larger < entries || larger <= room) larger *= 2;
      rebuild(set, fresh, static_cast<std::uint32_t>(larger));
    } else {
      write(set, set_name(set, family_), fresh);
    }
  });
}

void SetWriter::remove(const std::vector<SetItem>& items) {
  by_set(items, [&](SetId set, std::size_t begin, std::size_t end) {
    SetContents& held = contents(set);
    std::vector<SetEntry> gone;
    for (std::size_t i = begin; i < end; ++i) {
      if (held.count(items[i].entry) != 0) gone.push_back(items[i].entry);
      refused_.erase(items[i]);
    }
    if (gone.empty()) return;
    kernel_.remove(set_name(set, family_), spec(set).type, gone);
    for (const SetEntry& entry : gone) held.erase(entry);
  });
}

std::optional<std::string> SetWriter::find_damage() {
  std::optional<std::string> first;
  std::size_t others = 0;
  for (const SetId set : all_sets()) {
    const bool compare = static_cast<unsigned>(set) % kSweep == next_sweep_;
    const auto damage = find_damage(set, compare);
    if (damage && first) ++others;
    if (damage && !first) first = damage;
  }
  next_sweep_ = (next_sweep_ + 1) % kSweep;
  if (first) first->append(and_more(others));
  return first;
}

std::optional<std::string> SetWriter::find_damage(SetId set, bool compare) {
  const std::string name = set_name(set, family_);
  const auto header = kernel_.header(name);
  if (!header) return "set " + name + " is gone";
  if (!fits(set, *header)) return "set " + name + " is of another type (" + header->type + ")";
  const SetContents& held = contents(set);
  if (kernel_.has_counts() && header->entries != held.size()) {
    return "set " + name + " has " + std::to_string(header->entries) + " entries instead of " +
           std::to_string(held.size());
  }
  most(set) = header->most;
  if (!compare) return std::nullopt;
  const std::vector<SetEntry> entries = kernel_.entries(name, spec(set).type);
  std::size_t foreign = 0;
  for (const SetEntry& entry : entries) foreign += held.count(entry) == 0;
  const std::size_t missing = held.size() - std::min(held.size(), entries.size() - foreign);
  if (foreign == 0 && missing == 0) return std::nullopt;
  return "set " + name + " lacks " + std::to_string(missing) + " entries and has " + std::to_string(foreign) +
         " of somebody else";
}

std::vector<std::string> SetWriter::remove_all(const std::function<bool(const std::string& name)>& keep) {
  std::vector<std::string> used;
  unsigned pauses = kPauses;
  for (const SetId set : all_sets()) {
    const std::string name = set_name(set, family_);
    destroy_patiently(spare_name(set, family_), pauses);
    if (keep(name)) continue;
    if (!destroy_patiently(name, pauses)) {
      empty(set);
      used.push_back(name);
    }
    contents(set).clear();
  }
  return used;
}

bool SetWriter::destroy_patiently(const std::string& name, unsigned& pauses) {
  while (!kernel_.destroy(name)) {
    if (pauses == 0) return false;
    --pauses;
    wait_(kPause);
  }
  return true;
}

void SetWriter::empty(SetId set) {
  const std::string name = set_name(set, family_);
  const auto header = kernel_.header(name);
  if (!header || !fits(set, *header)) return;
  const SetType type = spec(set).type;
  const std::vector<SetEntry> entries = kernel_.entries(name, type);
  if (!entries.empty()) kernel_.remove(name, type, entries);
}

}  // namespace sluice::ipvs
