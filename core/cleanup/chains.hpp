// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Removes iptables chains and the jumps to them, for the nft and the legacy variant. Foreign rules are never touched; a
// chain that a foreign rule jumps to is flushed but not removed. One thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/cleanup/removal.hpp"
#include "core/cleanup/selection.hpp"
#include "lib/ip.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "plugins/common/netfilter/tools.hpp"

namespace sluice::cleanup {

// Changes for one family of one iptables variant.
struct ChainPlan {
  struct Chain {
    netfilter::Table table;
    std::string name;
    auto operator<=>(const Chain&) const = default;
  };
  struct Jump {
    netfilter::Table table;
    std::string from;
    std::string rule;
  };
  std::vector<Jump> jumps;              // to remove
  std::vector<Chain> chains;            // to remove, sorted
  std::map<Chain, std::string> held;    // to flush; value: the chain with the foreign jump
  std::vector<std::string> unreadable;  // tables with rules that iptables cannot show

  bool empty() const { return jumps.empty() && chains.empty() && held.empty(); }
};

// Makes a plan from the output of iptables-save, piece by piece.
class ChainPlanner {
 public:
  ChainPlanner(const Selection& selection, lib::Family family);
  ~ChainPlanner();
  ChainPlanner(const ChainPlanner&) = delete;
  ChainPlanner& operator=(const ChainPlanner&) = delete;

  void parse(std::string_view piece);
  // Call once. False: the output is truncated.
  bool finish(ChainPlan& into);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// For every iptables variant in use. Adds to `into`.
void remove_chains(const Selection& selection, lib::Family family, Removal& into);
// The same for one variant.
void remove_chains(const Selection& selection, lib::Family family, const netfilter::Tools& tools, Removal& into);

}  // namespace sluice::cleanup
