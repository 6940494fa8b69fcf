// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Prints a plan as lines of a restore input, as kube-proxy writes them.
#pragma once

#include <string>
#include <vector>

#include "plugins/iptables/plan.hpp"
#include "test/unit/common/world.hpp"

namespace sluice::test {

inline iptables::ServicePlan plan(const ServiceSpec& spec, const NodeSpec& node = {},
                                  abi::Family family = abi::Family::kIpv4) {
  World world(family);
  return iptables::plan_service(world.service(spec), iptables::plan_facts(family, world.node(node)));
}

inline std::string line(const iptables::ServicePlan& plan, const iptables::PlannedRule& rule) {
  const bool shared = rule.chain == iptables::PlannedRule::kShared;
  return "-A " + (shared ? std::string(iptables::name(rule.shared)) : iptables::name(plan.chains[rule.chain])) + " " +
         rule.text + "\n";
}

// Lines of one table.
inline std::string lines(const iptables::ServicePlan& plan, iptables::Table table) {
  std::string text;
  if (table == iptables::Table::kNat) {
    for (const iptables::ChainId& chain : plan.chains) text += ":" + iptables::name(chain) + " - [0:0]\n";
  }
  for (const iptables::PlannedRule& rule : plan.rules) {
    const bool shared = rule.chain == iptables::PlannedRule::kShared;
    if ((shared ? iptables::table(rule.shared) : iptables::Table::kNat) == table) text += line(plan, rule);
  }
  return text;
}

// Lines of one chain, or of all chains whose names begin with it.
inline std::string lines_of(const iptables::ServicePlan& plan, const std::string& chain) {
  std::string text;
  for (const iptables::PlannedRule& rule : plan.rules) {
    const std::string written = line(plan, rule);
    if (written.starts_with("-A " + chain)) text += written;
  }
  return text;
}

inline std::string nat(const iptables::ServicePlan& plan) { return lines(plan, iptables::Table::kNat); }
inline std::string filter(const iptables::ServicePlan& plan) { return lines(plan, iptables::Table::kFilter); }

// The fixture of the conformance cases: E1 on this node, E2 on another.
inline EndpointSpec e1(Condition condition = Condition::kReady) { return {"10.180.0.1", 80, true, condition}; }
inline EndpointSpec e2(Condition condition = Condition::kReady) { return {"10.180.2.1", 80, false, condition}; }

}  // namespace sluice::test
