// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Compares chains that the backend owns completely, and its single rules in foreign chains, with the
// output of iptables-save. One thread per Canonicaliser.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/common/netfilter/drift.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "plugins/common/netfilter/ruleset.hpp"

namespace sluice::netfilter {

struct ExactChain {
  Table table;
  std::string name;
  std::vector<std::string> rules;  // exactly these, in this order
};

// "nat KUBE-SERVICES".
std::string in_table(Table table, std::string_view chain);

// Chain::content for rules as they are written.
std::uint64_t content_of(const std::vector<std::string>& rules, Canonicaliser& canonicaliser);
// Writes the whole chain in one COMMIT: the declaration empties an existing chain, then its rules follow.
void write(const ExactChain& chain, RestoreInput& input);

// Whether `kernel_rules` has the chain with this content.
bool holds(const Ruleset& kernel_rules, Table table, std::string_view chain, std::uint64_t content);
// Whether a rule with this hash is among the stored rules of `chain`.
bool contains(const Chain& chain, std::uint64_t hash);
// The same for a chain that may be missing and a rule as it is written.
bool contains(const Ruleset& kernel_rules, Table table, std::string_view chain, std::string_view rule,
              Canonicaliser& canonicaliser);

// Add a phrase to `drift` if the chain or rule is missing or changed.
void expect_content(const Ruleset& kernel_rules, Table table, std::string_view chain, std::uint64_t content,
                    Drift& drift);
void expect_rule(const Ruleset& kernel_rules, Table table, std::string_view chain, std::string_view rule,
                 Canonicaliser& canonicaliser, Drift& drift);

}  // namespace sluice::netfilter
