// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One random history of a balancer and of a simple model, which uses maps and linear searches.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace sluice::userspace::rig {

// A choice of 0 <= result < count.
using Choose = std::function<std::size_t(std::size_t count)>;

// Empty if balancer and model always agreed; otherwise the operations up to the first difference.
std::string run_balancer_history(const Choose& choose, std::size_t steps);

}  // namespace sluice::userspace::rig
