// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Virtual servers, sets, rules and addresses of the kernel in words: Services, their frontends, and where connections
// to them go.
#pragma once

#include <array>
#include <functional>
#include <set>
#include <vector>

#include "plugins/common/inspection/service_line.hpp"
#include "plugins/ipvs/plan.hpp"
#include "plugins/ipvs/rules/rule_look.hpp"
#include "plugins/ipvs/rules/rule_plan.hpp"
#include "plugins/ipvs/servers/server_kernel.hpp"
#include "plugins/ipvs/sets/set_writer.hpp"
#include "plugins/ipvs/wanted.hpp"

namespace sluice::ipvs {

// What the kernel has. Real servers are read one virtual server after the other.
struct SeenNode {
  std::vector<VirtualServer> servers;
  std::function<std::vector<RealServerState>(const ServerKey&)> real_servers;
  std::array<SetContents, kSets> sets;
  std::set<abi::Address> addresses;  // of kube-ipvs0
  RuleLook rules;
};
SetContents read_set(SetKernel& kernel, SetId set, abi::Family family);

// Adds a line for each frontend that `seen` has, and each object that no Service port wants. `wanted` has the names,
// and which endpoints are on this node. Throws sdk::Failure.
void inspect(const SeenNode& seen, const Wanted& wanted, const PlanFacts& facts, const RuleFacts& rule_facts,
             inspection::Answer& answer);

}  // namespace sluice::ipvs
