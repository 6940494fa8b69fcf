// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Removes the iptables part, whichever process wrote it: this one, an earlier one, kube-proxy.
#pragma once

#include <functional>
#include <string>

#include "plugins/common/netfilter/kernel_session.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::ipvs {

using KeepChain = std::function<bool(netfilter::Table, const std::string& chain)>;

// See RuleWriter::remove_nat_jumps().
void remove_nat_jumps(netfilter::KernelSession& session, const KeepChain& keep);

// See RuleWriter::remove_all().
void remove_rules(netfilter::KernelSession& session, abi::Family family, const KeepChain& keep);

}  // namespace sluice::ipvs
