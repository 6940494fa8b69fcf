// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Helpers for tests of refused service ports.
#pragma once

#include <cppunit/TestAssert.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plugins/iptables/names.hpp"
#include "test/unit/iptables/backend_rig.hpp"

namespace sluice::test {

inline std::string name_of(std::size_t i) { return "bench/svc-" + std::to_string(i) + ":p80"; }
inline std::string own_rule(std::size_t i) { return "--comment " + name_of(i) + " -s "; }

inline std::vector<ServiceSpec> without(std::vector<ServiceSpec> services, std::size_t index) {
  services.erase(services.begin() + static_cast<std::ptrdiff_t>(index));
  return services;
}

// Rules and chains, ignoring the order in shared chains.
inline std::string content(const IptablesRig& rig) {
  std::string text;
  for (const auto& [table, chains] : rig.kernel.tables) {
    for (auto [chain, rules] : chains) {
      if (!iptables::parse_chain(chain)) std::sort(rules.begin(), rules.end());
      text += table + " " + chain + "\n";
      for (const std::string& rule : rules) text += "  " + rule + "\n";
    }
  }
  return text;
}

inline std::string content_of(const std::vector<ServiceSpec>& services) {
  IptablesRig fresh;
  if (fresh.full(services) != abi::Code::kOk) return fresh.error.message;
  return content(fresh);
}

// `now`: how many of them were reported in the last call.
inline void is_not_programmed(const IptablesRig& rig, const std::vector<std::size_t>& indexes, std::size_t now) {
  CPPUNIT_ASSERT_EQUAL(static_cast<std::size_t>(now), rig.host.not_programmed());
  for (const std::size_t i : indexes) {
    const std::string begin = name_of(i) + ": ";
    CPPUNIT_ASSERT_MESSAGE(begin, std::any_of(rig.host.failed.begin(), rig.host.failed.end(),
                                              [&](const auto& line) { return line.starts_with(begin); }));
  }
}
inline void is_not_programmed(const IptablesRig& rig, const std::vector<std::size_t>& indexes) {
  is_not_programmed(rig, indexes, indexes.size());
}

}  // namespace sluice::test
