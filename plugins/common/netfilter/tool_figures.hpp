// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What one apply spent in the programs that write rules, as figures for the daemon.
#pragma once

#include "plugins/common/netfilter/kernel_session.hpp"
#include "sluice/abi/host.hpp"

namespace sluice::netfilter {

// The time in them, and report_lock().
void report_tools(abi::Host& host, abi::Family family, const KernelSession& session, bool given_up);
// Waiting for the lock of the old iptables, if there was any. `given_up`: it failed because somebody else held it.
void report_lock(abi::Host& host, abi::Family family, const KernelSession& session, bool given_up);

}  // namespace sluice::netfilter
