// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Numbers for session affinity: an id for each service port, a token for each of its endpoints. A released number is
// reused only after all others, as clients may still be stored with it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/nftables/elements.hpp"

namespace sluice::nftables {

inline constexpr std::uint32_t kMaxAffinityNumber = 65535;  // maximum number of ids, and of tokens per id

class AffinityIds {
 public:
  // `most` limits the ids, for tests. `last`: the last id used before, if known.
  explicit AffinityIds(std::uint32_t most = kMaxAffinityNumber, std::uint32_t last = 0) : most_(most), last_(last) {}

  bool is_free(std::uint32_t id) const;  // false for an invalid id
  // Whether take_new() can return an id.
  bool has_new() const noexcept { return used_ + (reserving_ ? unclaimed_ : 0) < most_; }
  // REQUIRES: is_free().
  void take(std::uint32_t id);
  // REQUIRES: has_new().
  std::uint32_t take_new();
  void give_back(std::uint32_t id);
  // Reserves ids found in the kernel for their service ports until stop_reserving(). Afterwards take_new() uses them
  // only when no other id is left.
  void reserve(const std::vector<std::uint32_t>& ids);
  void stop_reserving() noexcept { reserving_ = false; }
  std::uint32_t last() const noexcept { return last_; }

 private:
  bool is_reserved(std::uint32_t number) const { return number < reserved_.size() && reserved_[number]; }

  std::uint32_t most_;
  std::vector<bool> taken_;
  std::vector<bool> reserved_;
  bool reserving_ = false;
  std::uint32_t unclaimed_ = 0;  // reserved and not taken
  std::uint32_t used_ = 0;
  std::uint32_t last_;  // the last id given out; take_new() continues after it
};

class AffinityTokens {
 public:
  struct Entry {
    EndpointAddress endpoint;
    std::uint16_t number = 0;
  };

  // Restores the numbers that a service port's endpoints had in the kernel. Duplicates and invalid numbers are
  // ignored.
  void restore(const std::vector<Entry>& listed);
  // `endpoints` must be sorted and unique, at most kMaxAffinityNumber. Endpoints that stay keep their numbers.
  void assign(const std::vector<EndpointAddress>& endpoints);
  const std::vector<Entry>& entries() const noexcept { return entries_; }  // sorted by endpoint
  // REQUIRES: `endpoint` has a number.
  std::uint16_t number(const EndpointAddress& endpoint) const;

 private:
  std::vector<Entry> entries_;  // sorted by endpoint
  std::uint16_t last_ = 0;
};

}  // namespace sluice::nftables
