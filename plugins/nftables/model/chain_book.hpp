// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The chains that Services share: who has which number, how many use it, and which are in the kernel. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/nftables/model/model.hpp"

namespace sluice::nftables {

class ChainBook {
 public:
  // Forgets everything; chains get the numbers they have in `seen`, and no other chain does. Null: none.
  void start_over(const Listing* seen);
  // From now on the kernel may have changed: what was seen tells nothing any more.
  void forget_seen();

  // The number; there is one user more of it.
  std::uint32_t acquire(const Treatment& treatment);
  std::uint32_t acquire(const std::vector<abi::Prefix>& allowed);
  // REQUIRES: was acquired.
  void release(bool firewall, std::uint32_t number);

  const SharedChain& find(bool firewall, std::uint32_t number) const { return chains_[places_.at({firewall, number})]; }
  // Those with users that are not in the kernel, each after those it goes to.
  std::vector<SharedChain> unwritten() const;
  const std::vector<SharedChain>& chains() const;
  void wrote(const std::vector<SharedChain>& chains);
  void removed(const std::vector<SharedChain>& chains);

 private:
  using Number = std::pair<bool, std::uint32_t>;  // of firewalls; number
  struct ShorterFirst {
    bool operator()(const std::vector<abi::Prefix>& a, const std::vector<abi::Prefix>& b) const noexcept;
  };

  std::uint32_t add(SharedChain chain);
  std::uint32_t new_number(bool firewall);
  void forget_unused(Number number);

  mutable std::vector<SharedChain> chains_;
  mutable std::map<Number, std::size_t> places_;  // in chains_
  mutable bool sorted_ = true;
  std::map<Treatment, std::uint32_t> treatments_;
  std::map<std::vector<abi::Prefix>, std::uint32_t, ShorterFirst> firewalls_;
  std::set<Number> written_;
  std::set<Number> unwritten_;  // with users
  // Of the kernel at start.
  std::unordered_map<std::string, std::uint32_t> seen_numbers_[2];  // by name
  std::set<std::string> seen_chains_;
  std::set<std::uint32_t> reserved_[2];
  std::uint32_t last_[2] = {0, 0};
};

}  // namespace sluice::nftables
