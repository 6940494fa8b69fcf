// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What this backend has put into the kernel, small enough to be kept for every service
// port: of a chain its name and one hash over its rules (all text of 10,000 service
// ports with 10 endpoints would be 40 MB, this is 8 MB), of a rule in a shared chain
// also the text, because it takes the text to remove it. The text of chains is planned
// again when it is needed.
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
  std::uint64_t content;  // as in netfilter::Chain
};

struct KnownRule {
  SharedChain chain;
  netfilter::Rule rule;
};

struct KnownService {
  std::uint32_t chain_rules = 0;
  std::uint32_t endpoints : 30 = 0;  // used or not
  std::uint32_t no_local_internal : 1 = 0;
  std::uint32_t no_local_external : 1 = 0;
  std::vector<KnownChain> chains;
  std::vector<KnownRule> shared;
};

struct KnownFixedChain {
  Table table;
  std::string name;
  std::uint64_t content;
};

// What is owned, for metrics.
struct Totals {
  std::size_t filter_rules = 0;
  std::size_t nat_rules = 0;
  std::size_t chains = 0;
  std::size_t endpoints = 0;
  std::size_t no_local_internal = 0;  // service ports
  std::size_t no_local_external = 0;
};

class State {
 public:
  // By hash_input().
  using Services = std::unordered_map<std::string, KnownService, netfilter::TextHash, std::equal_to<>>;

  const Services& services() const noexcept { return services_; }
  // Null when it is not known.
  const KnownService* find(std::string_view key) const;
  // Instead of what was known under `key`.
  void put(const std::string& key, KnownService service);
  // Takes it out; empty when it is not known.
  std::optional<KnownService> take(std::string_view key);

  Totals totals() const;

  StaticPlan fixed;
  std::vector<KnownFixedChain> fixed_chains;
  std::vector<netfilter::Rule> tail;

 private:
  void count(const KnownService& service, bool more);

  Services services_;
  Totals of_services_;  // kept up to date, so that asking does not cost the cluster
};

}  // namespace sluice::iptables
