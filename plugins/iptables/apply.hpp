// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// From what is wanted and what is there to the smallest input of iptables-restore.
//
// Chains of a service port are written whole when any of their rules differ (declared,
// hence emptied, and filled); shared chains are never rewritten for a service port, only
// single rules go in at the top and out. What belongs to one service port goes in one
// restore.
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
  // Names of service ports that are not even tried this time.
  const std::set<std::string>& skipped;
  // Another backend serves until this is done (abi::kCreatePredecessorServes): chains of service ports first, where nothing
  // leads; what leads to them in the end, in one COMMIT.
  bool at_once = false;
  // Called, with at_once, when only that is missing.
  std::function<void()> before_way_in;
  // Told of each service port for which there are no rules to be written.
  std::function<void(const std::string& name, const sdk::Failure& why)> on_left_out;
  sdk::Logger log;
};

// How many there are once `transaction` has been applied to `state`, used or not.
std::size_t count_endpoints(const abi::Transaction& transaction, const State& state);

// Makes the kernel hold exactly `transaction` and `fixed`; returns what it holds then.
// Whom the submitter refuses keeps what `before` knows of it, if all of that is still
// there; else nothing of it stays.
// Whatever throws has left the kernel in a state between.
State apply_full(netfilter::KernelSession& session, const ApplyContext& context, const abi::Transaction& transaction,
                 StaticPlan fixed, State before);

// Changes `state` and the kernel by `transaction`. Whom the submitter refuses keeps what
// it had. After a throw `state` is not what the kernel holds.
void apply_delta(netfilter::KernelSession& session, const ApplyContext& context, const abi::Transaction& transaction,
                 std::vector<std::string> tail, State& state);

}  // namespace sluice::iptables
