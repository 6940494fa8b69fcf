// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Describes the kernel's rules for `sluicectl services`: frontends of Services and their targets. Pure.
#pragma once

#include "plugins/common/inspection/service_line.hpp"
#include "plugins/iptables/kernel_rules.hpp"
#include "plugins/iptables/plan.hpp"
#include "plugins/iptables/service_names.hpp"

namespace sluice::iptables {

// Adds a line for each frontend in `rules`, and for each chain and rule that no Service port needs. `facts`: of the
// last apply(). Marks the chains of `rules` that are reached.
void inspect(KernelRules& rules, const ServiceNames& names, const PlanFacts& facts, inspection::Answer& answer);

}  // namespace sluice::iptables
