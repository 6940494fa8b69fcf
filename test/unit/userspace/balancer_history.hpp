// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One random history of a balancer, beside a model of it that is as simple as can be:
// maps, and everything looked for from the beginning.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace sluice::userspace::rig {

// A choice of 0 <= result < count.
using Choose = std::function<std::size_t(std::size_t count)>;

// Empty when balancer and model agreed all the time; else what was done until they did not.
std::string run_balancer_history(const Choose& choose, std::size_t steps);

}  // namespace sluice::userspace::rig
