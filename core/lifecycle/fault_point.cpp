// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/fault_point.hpp"

namespace sluice::lifecycle {

lib::Status fault_point(Step) { return {}; }

}  // namespace sluice::lifecycle
