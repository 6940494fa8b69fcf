// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tests whether this node can run the backend, by trying each feature. Leaves nothing behind but loaded modules.
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

// Loads modules if possible. Throws one sdk::Failure that names everything missing: IPVS, the scheduler (BEH 6.1), each
// set type, the iptables matches set and ipvs, dummy links, the iptables programs. The failure names the modules to load
// and what may prevent that (no modprobe, CAP_SYS_MODULE, a container).
//
// The scheduler is tested with a virtual server at a documentation address, unless another virtual server uses that
// scheduler. Dummy links are tested under a separate name, unless the backend's link exists.
void probe_node(const Kernels& kernels, const Settings& settings, abi::Family family, NodeAccess& node);
void probe_node(const Kernels& kernels, const Settings& settings, abi::Family family);

}  // namespace sluice::ipvs
