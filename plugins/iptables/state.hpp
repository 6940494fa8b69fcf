// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The state that this backend has written to the kernel, in compact form: for a chain its name
// and one hash over its rules, for a rule in a shared chain also its text, which is needed to
// remove it. 10,000 service ports with 10 endpoints take 8 MB instead of 40 MB of text. The text
// of chains is planned again when it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/common/netfilter/ruleset.hpp"
#include "plugins/iptables/names.hpp"
#include "plugins/iptables/static_plan.hpp"

namespace sluice::iptables {

struct KnownChain {
  ChainId id;
  std::uint64_t content;    // as in netfilter::Chain
  std::uint32_t rules = 0;  // how many
};

struct KnownRule {
  SharedChain chain;
  netfilter::Rule rule;
};

struct KnownService {
  std::uint32_t chain_rules = 0;
  std::uint32_t endpoints : 30 = 0;  // used or not
  std::uint32_t internal_without_local_endpoints : 1 = 0;
  std::uint32_t external_without_local_endpoints : 1 = 0;
  std::vector<KnownChain> chains;
  std::vector<KnownRule> shared;
};

struct KnownFixedChain {
  Table table;
  std::string name;
  std::uint64_t content;
};

// Numbers of owned objects, for metrics.
struct Totals {
  std::size_t filter_rules = 0;
  std::size_t nat_rules = 0;
  std::size_t chains = 0;
  std::size_t endpoints = 0;
  std::size_t internal_without_local_endpoints = 0;  // service ports
  std::size_t external_without_local_endpoints = 0;
};

class State {
 public:
  // By hash_input().
  using Services = std::unordered_map<std::string, KnownService, netfilter::TextHash, std::equal_to<>>;

  const Services& services() const noexcept { return services_; }
  // Null if there is none.
  const KnownService* find(std::string_view key) const;
  // Replaces the entry of `key`.
  void put(const std::string& key, KnownService service);
  // Removes and returns the entry of `key`; empty if there is none.
  std::optional<KnownService> take(std::string_view key);

  Totals totals() const;

  StaticPlan fixed;
  std::vector<KnownFixedChain> fixed_chains;
  std::vector<netfilter::Rule> tail;
  bool mangle_canary = false;  // a kernel without table mangle has none

 private:
  void count(const KnownService& service, bool more);

  Services services_;
  Totals of_services_;  // updated incrementally
};

}  // namespace sluice::iptables
