// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Compares the rules of a chain with the wanted rules. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "plugins/common/netfilter/ruleset.hpp"

namespace sluice::userspace {

// The rules of one chain in the kernel. Each wanted rule is matched with one of them; the rules of one service port are
// matched in order, since the first match wins. Unmatched rules have to be removed.
class PresentRules {
 public:
  // `rules` outlives this object.
  explicit PresentRules(const std::vector<netfilter::Rule>& rules) : rules_(rules), matched_(rules.size(), false) {
    for (std::size_t i = 0; i < rules.size(); ++i) positions_[rules[i].hash].push_back(i);
  }

  // Returns how many of the first `wanted` rules of a service port are in the chain, in this order. All rules after
  // these have to be appended, even those that exist, to keep the order.
  template <class Hashes>
  std::size_t match(const Hashes& wanted) {
    std::size_t next = 0;
    std::size_t kept = 0;
    for (const std::uint64_t hash : wanted) {
      if (!take(hash, next)) break;
      ++kept;
    }
    return kept;
  }

  // Matches as many rules of a service port as are in the chain in this order. Visits the index of each of the others.
  template <class Hashes, class Visit>
  void match_all(const Hashes& wanted, Visit missing) {
    std::size_t next = 0;
    std::size_t index = 0;
    for (const std::uint64_t hash : wanted) {
      if (!take(hash, next)) missing(index);
      ++index;
    }
  }

  template <class Visit>
  void each_unmatched(Visit visit) const {
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (!matched_[i]) visit(rules_[i]);
    }
  }
  std::size_t unmatched() const noexcept {
    std::size_t count = 0;
    for (const bool matched : matched_) count += matched ? 0 : 1;
    return count;
  }

 private:
  // Matches the first such rule at `next` or later, and sets `next` to the position after it.
  bool take(std::uint64_t hash, std::size_t& next) {
    const auto found = positions_.find(hash);
    if (found == positions_.end()) return false;
    for (const std::size_t position : found->second) {
      if (position < next || matched_[position]) continue;
      matched_[position] = true;
      next = position + 1;
      return true;
    }
    return false;
  }

  const std::vector<netfilter::Rule>& rules_;
  std::vector<bool> matched_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> positions_;
};

}  // namespace sluice::userspace
