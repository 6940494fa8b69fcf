// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Chains and jumps on a fake kernel that clean-up without the plugin does not know, so that they would stay.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "names/jumps.hpp"
#include "test/unit/common/fake_kernel.hpp"

namespace sluice::test {

inline bool is_known_jump(const std::string& table, const std::string& from, const std::string& rule,
                          names::Modes mode) {
  return std::any_of(names::kJumps.begin(), names::kJumps.end(), [&](const names::Jump& jump) {
    return (jump.modes & mode) != 0 && names::table_name(jump.table) == table && jump.from == from &&
           rule.find("\"" + std::string(jump.comment) + "\"") != std::string::npos &&
           rule.ends_with(" -j " + std::string(jump.to));
  });
}

// "nat KUBE-NEW", "nat OUTPUT -j KUBE-NEW"; the kernel had no chains but the built-in ones before `mode` wrote.
inline std::vector<std::string> unknown_names(const FakeKernel& kernel, names::Modes mode) {
  std::vector<std::string> unknown;
  for (const auto& [table, chains] : kernel.tables) {
    for (const auto& [chain, rules] : chains) {
      if (names::is_kubelet_chain(chain)) continue;
      const bool built_in = std::none_of(chain.begin(), chain.end(), [](char c) { return c == '-'; });
      if (!built_in && (names::makers_of_chain(table, chain) & mode) == 0) unknown.push_back(table + " " + chain);
      if (!built_in) continue;
      for (const std::string& rule : rules) {
        const bool of_kubelet = rule == "-j " + std::string(names::kKubeletFirewall);
        if (!of_kubelet && !is_known_jump(table, chain, rule, mode))
          unknown.push_back(table + " " + chain + " " + rule);
      }
    }
  }
  return unknown;
}

// The chains of a mode's rows that are not on the kernel.
inline std::vector<std::string> unwritten_chains(const FakeKernel& kernel, names::Modes mode) {
  std::vector<std::string> unwritten;
  for (const names::Chain& chain : names::kChains) {
    if ((chain.modes & mode) == 0 || chain.writer == names::Writer::kKubeProxy) continue;
    const std::string table(names::table_name(chain.table));
    const std::string name(chain.name);
    if (!kernel.has(table, name)) unwritten.push_back(table + " " + name);
  }
  return unwritten;
}

}  // namespace sluice::test
