// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The counters of the kernel's rules by service port, for `sluicectl counters`. Pure.
#pragma once

#include "plugins/common/inspection/rows.hpp"
#include "plugins/iptables/kernel_rules.hpp"
#include "plugins/iptables/service_names.hpp"

namespace sluice::iptables {

// Adds the rows of each service port: its own, those of its frontends, those of its endpoints. `rules`: listed with
// counters.
void add_counter_rows(const KernelRules& rules, const ServiceNames& names, inspection::CounterRows& rows);

}  // namespace sluice::iptables
