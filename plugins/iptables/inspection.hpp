// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The rules of the kernel in words: Services, their frontends, and where connections to them go. Pure.
#pragma once

#include "plugins/common/inspection/service_line.hpp"
#include "plugins/iptables/plan.hpp"
#include "plugins/iptables/seen_rules.hpp"
#include "plugins/iptables/service_names.hpp"

namespace sluice::iptables {

// Adds a line for each frontend that `seen` has, and each chain and rule that no Service port wants. `facts`: of the
// last apply(). Chains of `seen` are marked as reached.
void inspect(SeenRules& seen, const ServiceNames& names, const PlanFacts& facts, inspection::Answer& answer);

}  // namespace sluice::iptables
