// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Describes Services, their frontends and the targets of connections, from the virtual servers, sets, rules and
// addresses of the kernel.
#pragma once

#include <array>
#include <functional>
#include <set>
#include <vector>

#include "plugins/common/inspection/service_line.hpp"
#include "plugins/ipvs/plan.hpp"
#include "plugins/ipvs/rules/rule_listing.hpp"
#include "plugins/ipvs/rules/rule_plan.hpp"
#include "plugins/ipvs/servers/server_kernel.hpp"
#include "plugins/ipvs/sets/set_writer.hpp"
#include "plugins/ipvs/wanted.hpp"

namespace sluice::ipvs {

// What the kernel holds. Real servers are read for one virtual server at a time.
struct KernelState {
  std::vector<VirtualServerState> servers;
  std::function<std::vector<RealServerState>(const ServerKey&)> real_servers;
  std::array<SetContents, kSets> sets;
  std::set<abi::Address> addresses;  // of kube-ipvs0
  RuleListing rules;
};
SetContents read_set(SetKernel& kernel, SetId set, abi::Family family);

// Adds a line for each frontend in `kernel`, and for each object that no service port wants. `wanted` supplies the
// names and the local endpoints. Throws sdk::Failure.
void inspect(const KernelState& kernel, const Wanted& wanted, const PlanFacts& facts, const RuleFacts& rule_facts,
             inspection::Answer& answer);

}  // namespace sluice::ipvs
