// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What one apply spent in the programs that write rules, as figures for the daemon.
#pragma once

#include "plugins/common/netfilter/kernel_session.hpp"
#include "sluice/abi/host.hpp"

namespace sluice::userspace {

// `given_up`: it failed because somebody else held the lock of the old iptables.
void report_tools(abi::Host& host, abi::Family family, const netfilter::KernelSession& session, bool given_up);

}  // namespace sluice::userspace
