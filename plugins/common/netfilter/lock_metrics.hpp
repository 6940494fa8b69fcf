// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Metrics of the xtables lock of legacy iptables.
#pragma once

#include "plugins/common/netfilter/kernel_session.hpp"
#include "sluice/abi/host.hpp"

namespace sluice::netfilter {

// Reports the wait for the lock in one apply, if there was any. `given_up`: the wait timed out.
void report_lock(abi::Host& host, abi::Family family, const KernelSession& session, bool given_up);

}  // namespace sluice::netfilter
