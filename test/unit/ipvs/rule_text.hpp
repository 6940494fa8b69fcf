// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Plans of rules as lines, and their inputs.
#pragma once

#include <initializer_list>
#include <set>
#include <string>

#include "plugins/ipvs/rules/rule_plan.hpp"
#include "sluice/sdk/address.hpp"
#include "test/unit/common/world.hpp"

namespace sluice::test {

inline constexpr std::uint32_t kAllSets = (1u << ipvs::kSets) - 1;

inline std::uint32_t bits(std::initializer_list<ipvs::SetId> sets) {
  std::uint32_t filled = 0;
  for (const ipvs::SetId set : sets) filled |= 1u << static_cast<unsigned>(set);
  return filled;
}

inline ipvs::RuleFacts rule_facts(const NodeSpec& node = {}, abi::Family family = abi::Family::kIpv4,
                                  bool random_fully = true) {
  NodeSpec spec = node;
  if (family == abi::Family::kIpv6 && spec.ip == NodeSpec().ip) spec.ip = "fd00::2";
  World world(family);
  return ipvs::rule_facts(family, world.node(spec), random_fully);
}

inline ipvs::ServerKey server_key(const std::string& address, std::uint16_t port,
                                  abi::Protocol protocol = abi::Protocol::kTcp,
                                  abi::Family family = abi::Family::kIpv4) {
  return {*sdk::parse_address(address, family), port, protocol};
}

inline std::string chain_of(const ipvs::RulePlan& plan, netfilter::Table table, const std::string& name) {
  for (const ipvs::RuleChain& chain : plan.chains) {
    if (chain.table != table || chain.name != name) continue;
    std::string text;
    for (const std::string& rule : chain.rules) text += rule + "\n";
    return text;
  }
  return "no such chain";
}

// One line per rule, and one per chain without rules.
inline std::string text_of(const ipvs::RulePlan& plan) {
  std::string text;
  for (const ipvs::RuleChain& chain : plan.chains) {
    const std::string place = netfilter::in_table(chain.table, chain.name);
    if (chain.rules.empty()) text += place + "\n";
    for (const std::string& rule : chain.rules) text.append(place).append(" ").append(rule).append("\n");
  }
  return text;
}

}  // namespace sluice::test
