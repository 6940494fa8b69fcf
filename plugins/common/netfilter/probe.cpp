// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/probe.hpp"

#include "plugins/common/netfilter/restore_program.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::netfilter {
namespace {

constexpr std::string_view kChain = "SLUICE-PROBE";
// How often somebody who holds the lock of iptables is waited for, five seconds each time.
constexpr int kTries = 3;

// Makes a chain, fills it, empties it and removes it again, in one go: the kernel
// judges the rules and keeps nothing.
std::string input_for(const std::vector<Need>& tried) {
  std::string text;
  for (const Table table : {Table::kFilter, Table::kNat}) {
    std::string rules;
    for (const Need& need : tried) {
      if (need.table == table) rules.append("-A ").append(kChain).append(" ").append(need.rule).append("\n");
    }
    if (rules.empty()) continue;
    text.append("*").append(table_name(table)).append("\n:").append(kChain).append(" - [0:0]\n");
    text.append(rules).append("-F ").append(kChain).append("\n-X ").append(kChain).append("\nCOMMIT\n");
  }
  return text;
}

// What the kernel makes of them, unless it could not be asked.
process::Outcome try_out(Kernel& kernel, const std::vector<Need>& needs) {
  process::Outcome outcome;
  for (int count = 0; count < kTries; ++count) {
    outcome = kernel.try_restore(input_for(needs));
    if (outcome.ok() || may_be_the_rules(outcome)) return outcome;
    if (failure_of(kernel.tools().restore, outcome).code() != abi::Code::kRetry) break;
  }
  throw failure_of(kernel.tools().restore, outcome);
}

}  // namespace

void probe_needs(Kernel& kernel, const std::vector<Need>& needs) {
  const process::Outcome outcome = try_out(kernel, needs);
  if (outcome.ok()) return;
  std::string missing;
  for (const Need& need : needs) {
    if (try_out(kernel, {need}).ok()) continue;
    missing.append(missing.empty() ? "" : ", ").append(need.option);
  }
  // Only all of them at once: the tool says itself what is the matter.
  if (missing.empty()) throw failure_of(kernel.tools().restore, outcome);
  throw sdk::Failure(abi::Code::kUnsupported, "kernel",
                     "the kernel refuses rules that need " + missing + ": enable or load these options (" +
                         explain(kernel.tools().restore, outcome) + ")");
}

}  // namespace sluice::netfilter
