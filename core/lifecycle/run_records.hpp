// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The entries of a run in the ownership ledger. Errors are logged, because the run goes on.
#pragma once

#include <chrono>
#include <optional>

#include "core/lifecycle/backend_run.hpp"
#include "core/lifecycle/state_dir.hpp"
#include "lib/status.hpp"

namespace sluice::lifecycle {

// As record_run(), but returns the error.
lib::Status try_record_run(StateDir& state_dir, const BackendRun& run, const Claims& claims,
                           ownership::ClaimState state,
                           std::optional<std::chrono::system_clock::time_point> until = std::nullopt);
void record_run(StateDir& state_dir, const BackendRun& run, const Claims& claims, ownership::ClaimState state,
                std::optional<std::chrono::system_clock::time_point> until = std::nullopt);
void forget_run(StateDir& state_dir, const BackendRun& run, ownership::ClaimState state);

}  // namespace sluice::lifecycle
