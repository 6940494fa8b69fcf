// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Everything of this node the backend reaches for; tests bring their own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/common/netfilter/kernel.hpp"
#include "plugins/common/netlink/wire.hpp"
#include "plugins/ipvs/links/link_kernel.hpp"
#include "plugins/ipvs/port_clashes.hpp"
#include "plugins/ipvs/servers/connection_table.hpp"
#include "plugins/ipvs/servers/server_kernel.hpp"
#include "plugins/ipvs/sets/set_kernel.hpp"
#include "plugins/ipvs/settings.hpp"

namespace sluice::ipvs {

struct NodeKernels {
  std::unique_ptr<netfilter::Kernel> rules;
  std::unique_ptr<ServerKernel> servers;
  std::unique_ptr<SetKernel> sets;
  std::unique_ptr<LinkKernel> links;
  // prepare_node().
  std::function<std::vector<std::string>(const Settings&, ServerKernel&, bool lacking)> prepare;
  // Whether these are in the kernel already. Asking them would load their modules.
  std::function<bool()> has_ipvs;
  std::function<bool()> has_sets;
  // Addresses of one family on other links than kube-ipvs0, for clean-up, which knows no node facts.
  std::function<std::set<abi::Address>()> local_addresses;
  VisitConnections connections;  // of one family
  // Own addresses of connections that processes of this node have, of one family. Some are on kube-ipvs0: the source of
  // what is sent to such an address.
  std::function<std::set<abi::Address>()> connected_addresses;
  // Where packets of this node to addresses elsewhere come from; nothing where there is no way there. IPv4.
  std::function<std::optional<abi::Address>()> usual_source;
  PortClashes::Look sockets;
  netlink::OpenWire tracking;  // to connection tracking; empty: there is none
};

// Those of the node itself. Asks nothing yet.
NodeKernels node_kernels(abi::Family family);

}  // namespace sluice::ipvs
