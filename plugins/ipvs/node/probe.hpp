// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tests whether this node can run the backend, by trying each feature. Leaves nothing behind.
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

// Throws one sdk::Failure that names everything missing: IPVS, the scheduler (BEH 6.1: tried at a documentation
// address unless a virtual server uses it already), each set type, the iptables matches set and ipvs, dummy links
// (tried under a separate name), the iptables programs. It names the modules to load and what may prevent that (no
// modprobe, CAP_SYS_MODULE, a container). Loads modules if possible.
void probe_node(const Kernels& kernels, const Settings& settings, abi::Family family, NodeAccess& node);
void probe_node(const Kernels& kernels, const Settings& settings, abi::Family family);

}  // namespace sluice::ipvs
