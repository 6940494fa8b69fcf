// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/probe.hpp"

#include "plugins/common/netfilter/restore_program.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::netfilter {
namespace {

constexpr std::string_view kChain = "SLUICE-PROBE";

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

}  // namespace

void probe_needs(Kernel& kernel, const std::vector<Need>& needs) {
  const process::Outcome outcome = kernel.try_restore(input_for(needs));
  if (outcome.ok()) return;
  std::string missing;
  for (const Need& need : needs) {
    if (kernel.try_restore(input_for({need})).ok()) continue;
    missing.append(missing.empty() ? "" : ", ").append(need.option);
  }
  // All of them at once is a matter of privilege or of the tool, which says so itself.
  if (missing.empty() || outcome.complaint.find("you must be root") != std::string::npos) {
    throw failure_of(kernel.tools().restore, outcome);
  }
  throw sdk::Failure(abi::Code::kUnsupported, "kernel",
                     "the kernel refuses rules that need " + missing + ": enable or load these options (" +
                         explain(kernel.tools().restore, outcome) + ")");
}

}  // namespace sluice::netfilter
