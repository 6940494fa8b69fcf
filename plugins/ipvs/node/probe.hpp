// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Can this node run the backend? Tried, not guessed. Leaves nothing behind.
#pragma once

#include "plugins/common/netfilter/kernel.hpp"
#include "plugins/ipvs/links/link_kernel.hpp"
#include "plugins/ipvs/node/node_access.hpp"
#include "plugins/ipvs/servers/server_kernel.hpp"
#include "plugins/ipvs/sets/set_kernel.hpp"
#include "plugins/ipvs/settings.hpp"

namespace sluice::ipvs {

struct Kernels {
  netfilter::Kernel& rules;
  ServerKernel& servers;
  SetKernel& sets;
  LinkKernel& links;
};

// Throws sdk::Failure that names everything that is missing at once: IPVS, the scheduler (BEH 6.1: unless a virtual
// server uses it already, tried with one at a documentation address), sets of each type and the matches set and ipvs of
// iptables, links of kind dummy (tried under a name of its own), the programs of iptables. Names modules and what to
// install or load, and what may forbid it (no modprobe, CAP_SYS_MODULE, a container). Loads modules where it can.
void probe_node(const Kernels& kernels, const Settings& settings, abi::Family family, NodeAccess& node);
void probe_node(const Kernels& kernels, const Settings& settings, abi::Family family);

}  // namespace sluice::ipvs
