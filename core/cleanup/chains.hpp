// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Takes chains of iptables away, with the jumps that lead to them, whichever variant of
// iptables made them. Rules of others are never touched; a chain one of them points to is
// emptied and stays. One thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ip.hpp"
#include "core/cleanup/removal.hpp"
#include "core/cleanup/selection.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "plugins/common/netfilter/tools.hpp"

namespace sluice::cleanup {

// What has to be done about one family of one variant.
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
  std::vector<Jump> jumps;              // go
  std::vector<Chain> chains;            // go, sorted
  std::map<Chain, std::string> held;    // are emptied; by the chain whose rule points to them
  std::vector<std::string> unreadable;  // tables that hold what iptables cannot show

  bool empty() const { return jumps.empty() && chains.empty() && held.empty(); }
};

// Makes a plan from the output of iptables-save, piece by piece.
class ChainPlanner {
 public:
  ChainPlanner(const Selection& selection, base::Family family);
  ~ChainPlanner();
  ChainPlanner(const ChainPlanner&) = delete;
  ChainPlanner& operator=(const ChainPlanner&) = delete;

  void feed(std::string_view piece);
  // Call once. False: what was fed ended in the middle.
  bool finish(ChainPlan& into);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// In every variant that is in use. Adds to `into`.
void remove_chains(const Selection& selection, base::Family family, Removal& into);
// The same with the tools given.
void remove_chains(const Selection& selection, base::Family family, const netfilter::Tools& tools, Removal& into);

}  // namespace sluice::cleanup
