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
  bool is_free(std::uint32_t id) const;  // false for what is no id
  bool is_full() const noexcept { return used_ == kMaxAffinityNumber; }
  // REQUIRES: is_free().
  void take(std::uint32_t id);
  // REQUIRES: not is_full().
  std::uint32_t take_new();
  void give_back(std::uint32_t id);
  // These are given to nobody by take_new() as long as there are others: the kernel has them.
  void avoid(const std::vector<std::uint32_t>& ids);

 private:
  std::vector<bool> taken_;
  std::vector<bool> avoided_;
  std::uint32_t used_ = 0;
  std::uint32_t last_ = 0;
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
  // REQUIRES: it has one.
  std::uint16_t number(const EndpointAddress& endpoint) const;

 private:
  std::vector<Entry> entries_;  // sorted by endpoint
  std::uint16_t last_ = 0;
};

}  // namespace sluice::nftables
