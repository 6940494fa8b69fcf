// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The chains that Services share: their numbers, their user counts, and whether they are in the kernel. Pure.
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

class ChainRegistry {
 public:
  // Starts empty. Chains get the numbers they have in `listing`, which no other chain gets. Null: no listing.
  void start_over(const Listing* listing);
  // Forgets the listing: the kernel may have changed since.
  void forget_listing();

  // Adds a user and returns the number of the chain.
  std::uint32_t acquire(const ServiceClass& service_class);
  std::uint32_t acquire(const std::vector<abi::Prefix>& allowed);
  // REQUIRES: a preceding acquire().
  void release(bool firewall, std::uint32_t number);

  const SharedChain& find(bool firewall, std::uint32_t number) const { return chains_[places_.at({firewall, number})]; }
  // Chains with users that are not in the kernel yet, each after the chains it refers to.
  std::vector<SharedChain> unwritten() const;
  const std::vector<SharedChain>& chains() const;
  void wrote(const std::vector<SharedChain>& chains);
  void removed(const std::vector<SharedChain>& chains);

 private:
  using Number = std::pair<bool, std::uint32_t>;  // is it a firewall chain?; number
  struct ShorterFirst {
    bool operator()(const std::vector<abi::Prefix>& a, const std::vector<abi::Prefix>& b) const noexcept;
  };

  std::uint32_t add(SharedChain chain);
  std::uint32_t new_number(bool firewall);
  void forget_unused(Number number);

  mutable std::vector<SharedChain> chains_;
  mutable std::map<Number, std::size_t> places_;  // in chains_
  mutable bool sorted_ = true;
  std::map<ServiceClass, std::uint32_t> classes_;
  std::map<std::vector<abi::Prefix>, std::uint32_t, ShorterFirst> firewalls_;
  std::set<Number> written_;
  std::set<Number> unwritten_;  // with users
  // From the listing.
  std::unordered_map<std::string, std::uint32_t> listed_numbers_[2];  // by name
  std::set<std::string> listed_chains_;
  std::set<std::uint32_t> reserved_[2];
  std::uint32_t last_[2] = {0, 0};
};

}  // namespace sluice::nftables
