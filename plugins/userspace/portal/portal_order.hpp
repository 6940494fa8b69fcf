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
      const auto found = positions_.find(hash);
      if (found == positions_.end()) break;
      std::size_t at = rules_.size();
      for (const std::size_t position : found->second) {
        if (position >= next && !matched_[position]) {
          at = position;
          break;
        }
      }
      if (at == rules_.size()) break;
      matched_[at] = true;
      next = at + 1;
      ++kept;
    }
    return kept;
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
  const std::vector<netfilter::Rule>& rules_;
  std::vector<bool> matched_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> positions_;
};

}  // namespace sluice::userspace
