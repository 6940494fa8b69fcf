// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Explains what rules, sets, addresses and virtual servers do with a packet.
#pragma once

#include <set>

#include "plugins/common/inspection/rows.hpp"
#include "plugins/ipvs/inspection.hpp"

namespace sluice::ipvs {

// Adds a step for each object in `kernel` that decides something, and ends with a verdict. `local`: addresses of this
// node on links other than kube-ipvs0. `wanted` names what is missing. Throws sdk::Failure.
//
// What a process of this node sends to an address of this node has that address as its source, as the kernel chooses
// it, if the packet names the usual address of the node as its client (`facts`). Another client is an address that the
// process has bound.
void explain(const KernelState& kernel, const std::set<abi::Address>& local, const Wanted& wanted,
             const PlanFacts& facts, const RuleFacts& rule_facts, inspection::Explanation& explanation);

}  // namespace sluice::ipvs
