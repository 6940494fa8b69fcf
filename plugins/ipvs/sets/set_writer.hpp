// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keeps the sets: knows what the kernel holds since refresh(), writes only differences, grows sets. The apply thread
// only.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "plugins/ipvs/sets/set_kernel.hpp"

namespace sluice::ipvs {

using SetContents = std::unordered_set<SetEntry, SetEntryHash>;

struct SetDrift {
  enum class Kind : std::uint8_t {
    kGone,       // the set
    kOtherType,  // the set
    kUnread,     // entries with unknown options
    kMissing,    // an entry
    kAdded,      // an entry
  };
  Kind kind{};
  SetId set{};
  SetEntry entry{};          // of kMissing and kAdded
  std::uint64_t number = 1;  // of entries, with kUnread
  std::string found{};       // of kOtherType
};
using OnSetDrift = std::function<void(const SetDrift&)>;

class SetWriter {
 public:
  using Wait = std::function<void(std::chrono::milliseconds)>;

  // `kernel` outlives this. `wait` sleeps; tests replace it.
  SetWriter(SetKernel& kernel, abi::Family family, Wait wait = nullptr);

  // Capacity of a new set (BEH 6.7).
  static constexpr std::uint32_t kInitialCapacity = 65536;

  // One dump of each of our sets. Creates missing sets; replaces those of another type or family by swap, so that
  // rules that use them keep working, or throws with the remedy. Destroys temporary sets of an earlier process. Then
  // held() is what the kernel has. Throws sdk::Failure.
  void refresh();
  // As refresh(), but creates nothing: reads what an earlier process left.
  void read_back();

  const SetContents& held(SetId set) const noexcept { return held_[static_cast<std::size_t>(set)]; }
  // Bit SetId of each non-empty set. The rules depend on it (BEH 6.8).
  std::uint32_t filled() const noexcept;

  // Entries that are held already (or not, for remove) cost nothing. A full set is rebuilt with twice the capacity
  // and swapped in, so that no packet meets an incomplete set. Entries that the kernel rejects as elements are
  // skipped. Throw sdk::Failure; refresh() is needed then.
  void add(const std::vector<SetItem>& items);
  void remove(const std::vector<SetItem>& items);
  // Entries the kernel rejected since refresh() and that have not been removed, with the reason as a sentence.
  const std::map<SetItem, std::string>& refused() const noexcept { return refused_; }

  // Drift since the last write, as a phrase; empty: none. Compares the number of entries of each set, which costs one
  // small message, and all entries of each set once in `kSweep` calls, to find replaced entries. Throws sdk::Failure.
  static constexpr unsigned kSweep = 1;  // more would be too slow: calls are some 20 s apart
  std::optional<std::string> find_drift();
  // All drift, with a dump of each set. Entries of a set that is gone or of another type are missing. Changes nothing.
  // Throws sdk::Failure.
  void list_drift(const OnSetDrift& on_drift);

  // Destroys all our sets except those that `keep` names, waiting up to half a second in all for rules that are being
  // removed. Sets that a foreign rule uses are only emptied, and their names returned. Throws sdk::Failure.
  std::vector<std::string> remove_all(const std::function<bool(const std::string& name)>& keep);

  std::uint64_t messages() const { return kernel_.messages(); }
  std::uint64_t waited() const { return kernel_.waited(); }

 private:
  SetContents& contents(SetId set) noexcept { return held_[static_cast<std::size_t>(set)]; }
  std::uint32_t& maxelem(SetId set) noexcept { return maxelem_[static_cast<std::size_t>(set)]; }
  bool matches(SetId set, const SetHeader& header) const;
  void read(SetId set, const std::optional<SetHeader>& header);
  void replace(SetId set, const SetHeader& header);
  // Entries that the kernel rejects are not held.
  void write(SetId set, const std::string& name, const std::vector<SetEntry>& entries);
  void rebuild(SetId set, const std::vector<SetEntry>& more, std::uint32_t capacity);
  std::optional<std::string> find_drift(SetId set, bool compare);
  // kGone or kOtherType.
  std::optional<SetDrift> drift_of(SetId set, const std::optional<SetHeader>& header) const;
  // kMissing and kAdded.
  void compare_entries(SetId set, const std::vector<SetEntry>& found, const OnSetDrift& on_drift) const;
  // Retries while the set is in use, and decrements `pauses`. False: still in use.
  bool destroy_with_retries(const std::string& name, unsigned& pauses);
  // Destroys an existing temporary set of that name, or throws.
  void create_temporary(SetId set, std::uint32_t capacity);
  void empty(SetId set);

  SetKernel& kernel_;
  abi::Family family_;
  Wait wait_;
  std::array<SetContents, kSets> held_;
  std::array<std::uint32_t, kSets> maxelem_{};  // capacity in the kernel; 0: no limit
  std::map<SetItem, std::string> refused_;
  unsigned next_sweep_ = 0;
};

}  // namespace sluice::ipvs
