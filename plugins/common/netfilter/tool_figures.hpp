// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the lock of the old iptables costs, as figures for the daemon.
#pragma once

#include "plugins/common/netfilter/kernel_session.hpp"
#include "sluice/abi/host.hpp"

namespace sluice::netfilter {

// Waiting for it in one apply, if there was any. `given_up`: it failed because somebody else held it.
void report_lock(abi::Host& host, abi::Family family, const KernelSession& session, bool given_up);

}  // namespace sluice::netfilter
