// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/probe.hpp"

#include "plugins/common/netfilter/restore_program.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::netfilter {
namespace {

constexpr std::string_view kChain = "SLUICE-PROBE";
// Attempts if another process holds the xtables lock, five seconds each.
constexpr int kTries = 3;

// Creates a chain, fills it, flushes it and removes it in one COMMIT: the kernel checks the
// rules and keeps nothing.
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

// The result of the kernel; throws if the tool could not reach it.
lib::ProgramResult try_out(Kernel& kernel, const std::vector<Need>& needs) {
  lib::ProgramResult outcome;
  for (int count = 0; count < kTries; ++count) {
    outcome = kernel.try_restore(input_for(needs));
    if (outcome.ok() || may_be_the_rules(outcome)) return outcome;
    if (failure_of(kernel.tools().restore, outcome).code() != abi::Code::kRetry) break;
  }
  throw failure_of(kernel.tools().restore, outcome);
}

}  // namespace

void probe_needs(Kernel& kernel, const std::vector<Need>& needs) {
  const lib::ProgramResult outcome = try_out(kernel, needs);
  if (outcome.ok()) return;
  std::string missing;
  for (const Need& need : needs) {
    if (try_out(kernel, {need}).ok()) continue;
    missing.append(missing.empty() ? "" : ", ").append(need.option);
  }
  // Each rule works alone and all of them together fail: report the error of the tool.
  if (missing.empty()) throw failure_of(kernel.tools().restore, outcome);
  throw sdk::Failure(abi::Code::kUnsupported, "kernel",
                     "the kernel refuses rules that need " + missing + ": enable or load these options (" +
                         explain(kernel.tools().restore, outcome) + ")");
}

}  // namespace sluice::netfilter
