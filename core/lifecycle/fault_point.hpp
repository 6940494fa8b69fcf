// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Injects a failure, or the end of the process, between two steps of a swap. Does nothing in
// the installed daemon; test builds replace it with test/tools/fault_point.cpp.
#pragma once

#include "core/lifecycle/step.hpp"
#include "lib/status.hpp"

namespace sluice::lifecycle {

// Called right before a step; the step fails with a status that is not ok.
lib::Status fault_point(Step step);

}  // namespace sluice::lifecycle
