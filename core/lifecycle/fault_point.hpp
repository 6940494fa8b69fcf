// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Where tests make a swap fail, or end the process, between two steps. In the daemon that
// is installed it does nothing; test/tools/fault_point.cpp takes its place in a daemon that
// is built for tests.
#pragma once

#include "core/base/status.hpp"
#include "core/lifecycle/step.hpp"

namespace sluice::lifecycle {

// Right before a step. Not ok: the step fails with this.
base::Status fault_point(Step step);

}  // namespace sluice::lifecycle
