// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Chains whose whole content is ours, and single rules of ours in chains of others, compared with what
// iptables-save showed. One thread per Canonicaliser.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/common/netfilter/damage.hpp"
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

// As in Chain, of rules as they are written.
std::uint64_t content_of(const std::vector<std::string>& rules, Canonicaliser& canonicaliser);
// Whole: declared, hence emptied where it exists, and filled, in one COMMIT.
void write(const ExactChain& chain, RestoreInput& input);

// `seen` has such a chain with this content.
bool holds(const Ruleset& seen, Table table, std::string_view chain, std::uint64_t content);
// A rule with this hash is among the kept rules of `chain`.
bool contains(const Chain& chain, std::uint64_t hash);
// The same for a chain that may be missing, and a rule as it is written.
bool contains(const Ruleset& seen, Table table, std::string_view chain, std::string_view rule,
              Canonicaliser& canonicaliser);

// Add a phrase where that is not so.
void expect_content(const Ruleset& seen, Table table, std::string_view chain, std::uint64_t content, Damage& damage);
void expect_rule(const Ruleset& seen, Table table, std::string_view chain, std::string_view rule,
                 Canonicaliser& canonicaliser, Damage& damage);

}  // namespace sluice::netfilter
