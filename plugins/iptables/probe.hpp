// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Probes the kernel features that the rules need, with one rule of each kind.
#pragma once

#include "plugins/common/netfilter/kernel.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::iptables {

// Throws sdk::Failure that names the missing options.
void probe_kernel(netfilter::Kernel& kernel, abi::Family family);

}  // namespace sluice::iptables
