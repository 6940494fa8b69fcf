// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keeps the sets: knows what the kernel holds since refresh(), writes only what is different, lets
// them grow. The apply thread only.
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

class SetWriter {
 public:
  using Wait = std::function<void(std::chrono::milliseconds)>;

  // `kernel` outlives this. `wait`: sleeps; tests do not.
  SetWriter(SetKernel& kernel, abi::Family family, Wait wait = nullptr);

  // Room of a set when it is made (BEH 6.7).
  static constexpr std::uint32_t kRoom = 65536;

  // One dump of each set of ours; one that is missing is made; one of another type, or for another family,
  // is replaced under its name by swap (rules that use it keep working, or it is an error that says so). What an
  // earlier process left half-way is destroyed. After it held() is what the kernel has. Throws sdk::Failure.
  void refresh();
  // As refresh(), but makes nothing: what an earlier process left. Empty sets where there are none.
  void look();

  const SetContents& held(SetId set) const noexcept { return held_[static_cast<std::size_t>(set)]; }
  // Bit number SetId: we hold entries of it. What rules are written for depends on it (BEH 6.8).
  std::uint32_t filled() const noexcept;

  // What is held already (or not, for remove) costs nothing. A set that would be more than full is made
  // anew with twice the room and swapped in: no packet meets a set with less in it. What the kernel takes for no
  // element stays out. Throw sdk::Failure; refresh() is needed then.
  void add(const std::vector<SetItem>& items);
  void remove(const std::vector<SetItem>& items);
  // What stayed out since refresh() and has not been removed, and why, a sentence each.
  const std::map<SetItem, std::string>& refused() const noexcept { return refused_; }

  // What is damaged, in a phrase; empty when all is as written. Compares the number of entries each time,
  // which costs one small message for each set, and all entries of one set after the other, so that a
  // replaced entry is found as well: every set within `sweep` calls.
  // Throws sdk::Failure.
  static constexpr unsigned kSweep = 1;  // more would be found too late: calls are some 20 s apart
  std::optional<std::string> find_damage();

  // Destroys all our sets but those for which `keep` says so, waiting a little (half a second in all) for rules that
  // are just being let go of. Names of those somebody else's rule uses are returned: they are emptied only. Throws
  // sdk::Failure.
  std::vector<std::string> remove_all(const std::function<bool(const std::string& name)>& keep);

  std::uint64_t messages() const { return kernel_.messages(); }
  std::uint64_t waited() const { return kernel_.waited(); }

 private:
  SetContents& contents(SetId set) noexcept { return held_[static_cast<std::size_t>(set)]; }
  std::uint32_t& most(SetId set) noexcept { return most_[static_cast<std::size_t>(set)]; }
  bool fits(SetId set, const SetHeader& header) const;
  void read(SetId set, const std::optional<SetHeader>& header);
  void replace(SetId set, const SetHeader& header);
  // What stays out is not held.
  void write(SetId set, const std::string& name, const std::vector<SetEntry>& entries);
  void rebuild(SetId set, const std::vector<SetEntry>& more, std::uint32_t room);
  std::optional<std::string> find_damage(SetId set, bool compare);
  // False when it is still used after the pauses left, which grow less.
  bool destroy_patiently(const std::string& name, unsigned& pauses);
  // Whatever is under that name goes, or it throws.
  void make_spare(SetId set, std::uint32_t room);
  void empty(SetId set);

  SetKernel& kernel_;
  abi::Family family_;
  Wait wait_;
  std::array<SetContents, kSets> held_;
  std::array<std::uint32_t, kSets> most_{};  // room in the kernel; 0: no limit
  std::map<SetItem, std::string> refused_;
  unsigned next_sweep_ = 0;
};

}  // namespace sluice::ipvs
