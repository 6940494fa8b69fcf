// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Numbers for session affinity: an id for a service port, a token for each of its endpoints. One that was given back is not used
// again before all others were: clients may still be remembered with it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/nftables/values.hpp"

namespace sluice::nftables {

inline constexpr std::uint32_t kMaxAffinityNumber = 65535;  // of ids, and of tokens with the same id

class AffinityIds {
 public:
  // `most`: not all of them, for tests. `last`: of those that were used before, if it is known.
  explicit AffinityIds(std::uint32_t most = kMaxAffinityNumber, std::uint32_t last = 0) : most_(most), last_(last) {}

  bool is_free(std::uint32_t id) const;  // false for what is no id
  // Whether take_new() has one.
  bool has_new() const noexcept { return used_ + (reserving_ ? unclaimed_ : 0) < most_; }
  // REQUIRES: is_free().
  void take(std::uint32_t id);
  // REQUIRES: has_new().
  std::uint32_t take_new();
  void give_back(std::uint32_t id);
  // The kernel has these: they are kept for those that had them, until stop_reserving(). Later take_new() gives them away as
  // well, but not as long as there are others.
  void reserve(const std::vector<std::uint32_t>& ids);
  void stop_reserving() noexcept { reserving_ = false; }
  std::uint32_t last() const noexcept { return last_; }

 private:
  bool is_reserved(std::uint32_t number) const { return number < reserved_.size() && reserved_[number]; }

  std::uint32_t most_;
  std::vector<bool> taken_;
  std::vector<bool> reserved_;
  bool reserving_ = false;
  std::uint32_t unclaimed_ = 0;  // of the reserved ones
  std::uint32_t used_ = 0;
  std::uint32_t last_;  // given away; the next one comes after it
};

class AffinityTokens {
 public:
  struct Entry {
    EndpointAddress endpoint;
    std::uint16_t number = 0;
  };

  // Endpoints with these numbers, for a port that had them before; what is there twice, or is no number, does not count.
  void restore(const std::vector<Entry>& seen);
  // `endpoints`: sorted, without duplicates, at most kMaxAffinityNumber. Those that stay keep their numbers.
  void assign(const std::vector<EndpointAddress>& endpoints);
  const std::vector<Entry>& entries() const noexcept { return entries_; }  // sorted by endpoint
  // REQUIRES: it has one.
  std::uint16_t number(const EndpointAddress& endpoint) const;

 private:
  std::vector<Entry> entries_;  // sorted by endpoint
  std::uint16_t last_ = 0;
};

}  // namespace sluice::nftables
