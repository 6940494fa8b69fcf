// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/run_records.hpp"

#include "core/base/log_messages.hpp"

namespace sluice::lifecycle {

lib::Status try_record_run(StateDir& state_dir, const BackendRun& run, const Claims& claims,
                           ownership::ClaimState state, std::optional<std::chrono::system_clock::time_point> until) {
  lib::Status out;
  for (const auto& of : run.families()) {
    const auto status = state_dir.record({run.plugin().id(), of->family, state, run.plugin().file().string(), until,
                                          claims[lib::family_index(of->family)]});
    if (!status.ok()) out = status;
  }
  return out;
}

void record_run(StateDir& state_dir, const BackendRun& run, const Claims& claims, ownership::ClaimState state,
                std::optional<std::chrono::system_clock::time_point> until) {
  const auto status = try_record_run(state_dir, run, claims, state, until);
  if (!status.ok()) base::log(base::message::kOwnershipLedgerNotUpdated, status.message(), {{"error", status.message()}});
}

void forget_run(StateDir& state_dir, const BackendRun& run, ownership::ClaimState state) {
  for (const auto& of : run.families()) {
    const auto status = state_dir.forget(run.plugin().id(), of->family, state);
    if (!status.ok()) base::log(base::message::kOwnershipLedgerNotUpdated, status.message(), {{"error", status.message()}});
  }
}

}  // namespace sluice::lifecycle
