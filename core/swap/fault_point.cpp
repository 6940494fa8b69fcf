// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/swap/fault_point.hpp"

namespace sluice::swap {

base::Status fault_point(Step) { return {}; }

}  // namespace sluice::swap
