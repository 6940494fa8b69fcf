// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Computes the smallest input of iptables-restore from the wanted and the present rules.
//
// A chain of a service port is rewritten if any of its rules differ: its declaration empties
// it, then all rules follow. In shared chains single rules are inserted at the top and
// deleted. All lines of one service port are in one restore.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/common/netfilter/submitter.hpp"
#include "plugins/iptables/plan.hpp"
#include "plugins/iptables/state.hpp"
#include "sluice/abi/transaction.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::iptables {

struct ApplyContext {
  const PlanFacts& facts;
  PlanChoices choices;
  std::size_t batch;  // lines per restore; a service port is never split
  netfilter::Submitter& submitter;
  // Names of service ports that this apply does not try to write.
  const std::set<std::string>& skipped;
  // Another backend serves until this apply is done (abi::kCreatePredecessorServes): the chains of service ports are
  // written first, unreferenced, then the shared chains and jumps in one COMMIT.
  bool takeover = false;
  // In a takeover: called just before the shared chains and jumps are written.
  std::function<void()> before_entry_jumps;
  // Called for each service port whose rules cannot be written.
  std::function<void(const std::string& name, const sdk::Failure& why)> on_not_programmed;
  sdk::Logger log;
};

// The number of endpoints, used or not, after `transaction` is applied to `state`.
std::size_t count_endpoints(const abi::Transaction& transaction, const State& state);

// Makes the kernel hold exactly `transaction` and `fixed`; returns the state it then holds.
// A service port in submitter.refused() keeps its rules of `before` if all of them are still
// there; otherwise its rules are removed. After a throw the transaction may be partly written.
State apply_full(netfilter::KernelSession& session, const ApplyContext& context, const abi::Transaction& transaction,
                 StaticPlan fixed, State before);

// Applies `transaction` to `state` and the kernel. A service port in submitter.refused() keeps
// its old rules. After a throw `state` does not match the kernel.
void apply_delta(netfilter::KernelSession& session, const ApplyContext& context, const abi::Transaction& transaction,
                 std::vector<std::string> tail, State& state);

}  // namespace sluice::iptables
