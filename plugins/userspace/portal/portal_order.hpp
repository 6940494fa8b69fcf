// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which rules of a chain are in place already, and which have to come or go. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "plugins/common/netfilter/ruleset.hpp"

namespace sluice::userspace {

// The rules of one chain as they stand. Each rule wanted takes one that is there; those of one service port are
// taken in their order, for the first match wins. What nobody takes is to go.
class PresentRules {
 public:
  // `rules` outlives this.
  explicit PresentRules(const std::vector<netfilter::Rule>& rules) : rules_(rules), taken_(rules.size(), false) {
    for (std::size_t i = 0; i < rules.size(); ++i) positions_[rules[i].hash].push_back(i);
  }

  // Of one service port, in order: how many of `wanted` are in place. From the first that is not on, all have to be
  // appended, or they would stand above it.
  template <class Hashes>
  std::size_t take(const Hashes& wanted) {
    std::size_t next = 0;
    std::size_t kept = 0;
    for (const std::uint64_t hash : wanted) {
      const auto found = positions_.find(hash);
      if (found == positions_.end()) break;
      std::size_t at = rules_.size();
      for (const std::size_t position : found->second) {
        if (position >= next && !taken_[position]) {
          at = position;
          break;
        }
      }
      if (at == rules_.size()) break;
      taken_[at] = true;
      next = at + 1;
      ++kept;
    }
    return kept;
  }

  template <class Visit>
  void each_left(Visit visit) const {
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (!taken_[i]) visit(rules_[i]);
    }
  }
  std::size_t left() const noexcept {
    std::size_t count = 0;
    for (const bool taken : taken_) count += taken ? 0 : 1;
    return count;
  }

 private:
  const std::vector<netfilter::Rule>& rules_;
  std::vector<bool> taken_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> positions_;
};

}  // namespace sluice::userspace
