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

// Suffix for the number of further sets with drift.
std::string and_more(std::size_t more) {
  if (more == 0) return "";
  return ", and " + std::to_string(more) + (more == 1 ? " more set has" : " more sets have") + " drifted";
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

bool SetWriter::matches(SetId set, const SetHeader& header) const {
  const SetType type = spec(set).type;
  return header.type == type_name(type) && (type == SetType::kPorts || header.family == family_);
}

void SetWriter::read_back() {
  for (const SetId set : all_sets()) {
    const auto header = kernel_.header(set_name(set, family_));
    read(set, header && matches(set, *header) ? header : std::nullopt);
  }
}

void SetWriter::refresh() {
  refused_.clear();
  for (const SetId set : all_sets()) {
    const std::string name = set_name(set, family_);
    // Left by a process that ended before or after the swap.
    kernel_.destroy(temporary_name(set, family_));
    auto header = kernel_.header(name);
    if (!header) {
      kernel_.create(name, spec(set).type, kInitialCapacity);
    } else if (!matches(set, *header)) {
      replace(set, *header);
      header.reset();
    }
    read(set, header);
    // Entries that could not be parsed are not ours: the rebuilt set does not have them.
    if (header && kernel_.has_counts() && header->entries > held(set).size()) rebuild(set, {}, maxelem(set));
  }
}

// Without a header the set is new and empty.
void SetWriter::read(SetId set, const std::optional<SetHeader>& header) {
  SetContents& current = contents(set);
  current.clear();
  const SetType type = spec(set).type;
  maxelem(set) = header ? header->maxelem : type == SetType::kPorts ? 0 : kInitialCapacity;
  if (!header) return;
  const std::vector<SetEntry> entries = kernel_.entries(set_name(set, family_), type);
  current.reserve(entries.size());
  current.insert(entries.begin(), entries.end());
}

void SetWriter::replace(SetId set, const SetHeader& header) {
  const std::string name = set_name(set, family_);
  const SetType type = spec(set).type;
  if (kernel_.destroy(name)) {
    kernel_.create(name, type, kInitialCapacity);
    return;
  }
  // A rule uses it.
  const std::string temporary = temporary_name(set, family_);
  create_temporary(set, kInitialCapacity);
  try {
    kernel_.swap(temporary, name);
  } catch (const sdk::Failure& failure) {
    kernel_.destroy(temporary);
    if (failure.code() != abi::Code::kKernel) throw;
    const bool other_family = header.type == type_name(type);
    throw sdk::Failure(
        abi::Code::kKernel, name,
        "set " + name + " is " +
            (other_family ? "for the other IP family"
                          : "of type " + header.type + " and not " + std::string(type_name(type))) +
            ", and a rule uses it, so that it cannot be replaced: delete that rule (iptables-save and nft list "
            "ruleset show it); the set is then created again",
        failure.os_errno());
  }
  kernel_.destroy(temporary);
}

void SetWriter::write(SetId set, const std::string& name, const std::vector<SetEntry>& entries) {
  const std::vector<RefusedEntry> refused = kernel_.add(name, spec(set).type, entries);
  SetContents& current = contents(set);
  current.insert(entries.begin(), entries.end());
  for (const RefusedEntry& one : refused) {
    current.erase(one.entry);
    refused_[{set, one.entry}] = one.why;
  }
}

// Rebuilds the set with its entries and `more` and swaps it in, so that no packet meets an incomplete set.
void SetWriter::rebuild(SetId set, const std::vector<SetEntry>& more, std::uint32_t capacity) {
  const std::string name = set_name(set, family_);
  const std::string temporary = temporary_name(set, family_);
  std::vector<SetEntry> all(held(set).begin(), held(set).end());
  all.insert(all.end(), more.begin(), more.end());
  create_temporary(set, capacity);
  write(set, temporary, all);
  kernel_.swap(temporary, name);
  maxelem(set) = capacity;
  // May fail while another process lists it; refresh() destroys it then.
  kernel_.destroy(temporary);
}

void SetWriter::create_temporary(SetId set, std::uint32_t capacity) {
  const std::string temporary = temporary_name(set, family_);
  unsigned pauses = kPauses;
  if (!destroy_with_retries(temporary, pauses)) {
    throw sdk::Failure(abi::Code::kRetry, temporary,
                       "set " + temporary + " is in use, by a rule or by a program that lists it, so that set " +
                           set_name(set, family_) + " cannot be rebuilt: delete the rules that name " + temporary);
  }
  kernel_.create(temporary, spec(set).type, capacity);
}

void SetWriter::add(const std::vector<SetItem>& items) {
  by_set(items, [&](SetId set, std::size_t begin, std::size_t end) {
    SetContents& current = contents(set);
    std::vector<SetEntry> fresh;
    for (std::size_t i = begin; i < end; ++i) {
      if (current.count(items[i].entry) == 0) fresh.push_back(items[i].entry);
    }
    if (fresh.empty()) return;
    const std::size_t entries = current.size() + fresh.size();
    const std::uint32_t limit = maxelem(set);  // 0: sets of this type have no limit
    if (limit != 0 && entries > limit) {
      std::uint64_t larger = std::max(limit, kInitialCapacity);
      while (larger < entries || larger <= limit) larger *= 2;
      rebuild(set, fresh, static_cast<std::uint32_t>(larger));
    } else {
      write(set, set_name(set, family_), fresh);
    }
  });
}

void SetWriter::remove(const std::vector<SetItem>& items) {
  by_set(items, [&](SetId set, std::size_t begin, std::size_t end) {
    SetContents& current = contents(set);
    std::vector<SetEntry> gone;
    for (std::size_t i = begin; i < end; ++i) {
      if (current.count(items[i].entry) != 0) gone.push_back(items[i].entry);
      refused_.erase(items[i]);
    }
    if (gone.empty()) return;
    kernel_.remove(set_name(set, family_), spec(set).type, gone);
    for (const SetEntry& entry : gone) current.erase(entry);
  });
}

std::optional<std::string> SetWriter::find_drift() {
  std::optional<std::string> first;
  std::size_t more = 0;
  for (const SetId set : all_sets()) {
    const bool compare = static_cast<unsigned>(set) % kSweep == next_sweep_;
    const auto drift = find_drift(set, compare);
    if (drift && first) ++more;
    if (drift && !first) first = drift;
  }
  next_sweep_ = (next_sweep_ + 1) % kSweep;
  if (first) first->append(and_more(more));
  return first;
}

std::optional<std::string> SetWriter::find_drift(SetId set, bool compare) {
  const std::string name = set_name(set, family_);
  const auto header = kernel_.header(name);
  if (const auto whole = drift_of(set, header)) {
    const bool gone = whole->kind == SetDrift::Kind::kGone;
    return "set " + name + (gone ? " is gone" : " is of another type (" + whole->found + ")");
  }
  const SetContents& current = contents(set);
  if (kernel_.has_counts() && header->entries != current.size()) {
    return "set " + name + " has " + std::to_string(header->entries) + " entries instead of " +
           std::to_string(current.size());
  }
  maxelem(set) = header->maxelem;
  if (!compare) return std::nullopt;
  std::size_t foreign = 0;
  std::size_t missing = 0;
  compare_entries(set, kernel_.entries(name, spec(set).type),
                  [&](const SetDrift& drift) { ++(drift.kind == SetDrift::Kind::kAdded ? foreign : missing); });
  if (foreign == 0 && missing == 0) return std::nullopt;
  return "set " + name + " lacks " + std::to_string(missing) + " entries and has " + std::to_string(foreign) +
         " foreign ones";
}

std::optional<SetDrift> SetWriter::drift_of(SetId set, const std::optional<SetHeader>& header) const {
  if (!header) return SetDrift{.kind = SetDrift::Kind::kGone, .set = set};
  if (matches(set, *header)) return std::nullopt;
  return SetDrift{.kind = SetDrift::Kind::kOtherType, .set = set, .found = header->type};
}

void SetWriter::compare_entries(SetId set, const std::vector<SetEntry>& found, const OnSetDrift& on_drift) const {
  const SetContents& wanted = held(set);
  std::size_t added = 0;
  for (const SetEntry& entry : found) {
    if (wanted.contains(entry)) continue;
    ++added;
    on_drift({.kind = SetDrift::Kind::kAdded, .set = set, .entry = entry});
  }
  if (found.size() - added >= wanted.size()) return;
  const SetContents there(found.begin(), found.end());
  for (const SetEntry& entry : wanted) {
    if (!there.contains(entry)) on_drift({.kind = SetDrift::Kind::kMissing, .set = set, .entry = entry});
  }
}

void SetWriter::list_drift(const OnSetDrift& on_drift) {
  for (const SetId set : all_sets()) {
    const std::string name = set_name(set, family_);
    const auto header = kernel_.header(name);
    std::vector<SetEntry> found;
    if (const auto whole = drift_of(set, header)) {
      on_drift(*whole);
    } else {
      found = kernel_.entries(name, spec(set).type);
      if (kernel_.has_counts() && header->entries > found.size()) {
        on_drift({.kind = SetDrift::Kind::kUnread, .set = set, .number = header->entries - found.size()});
      }
    }
    compare_entries(set, found, on_drift);
  }
}

std::vector<std::string> SetWriter::remove_all(const std::function<bool(const std::string& name)>& keep) {
  std::vector<std::string> used;
  unsigned pauses = kPauses;
  for (const SetId set : all_sets()) {
    const std::string name = set_name(set, family_);
    destroy_with_retries(temporary_name(set, family_), pauses);
    if (keep(name)) continue;
    if (!destroy_with_retries(name, pauses)) {
      empty(set);
      used.push_back(name);
    }
    contents(set).clear();
  }
  return used;
}

bool SetWriter::destroy_with_retries(const std::string& name, unsigned& pauses) {
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
  if (!header || !matches(set, *header)) return;
  const SetType type = spec(set).type;
  const std::vector<SetEntry> entries = kernel_.entries(name, type);
  if (!entries.empty()) kernel_.remove(name, type, entries);
}

}  // namespace sluice::ipvs
