// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Compares the rules in the kernel with the written state, object by object, for `sluicectl diff`.
#pragma once

#include "plugins/common/inspection/rows.hpp"
#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/iptables/state.hpp"

namespace sluice::iptables {

// Lists the rules once and changes nothing. Adds a row for each object that find_drift() finds, for objects that the
// next full transaction would remove, and for rules of other software above the jumps of this backend. `state`: as
// written by the last apply(). Throws sdk::Failure if the tool fails or its output is truncated.
void add_drift_rows(netfilter::KernelSession& session, const State& state, inspection::DriftRows& rows);

}  // namespace sluice::iptables
