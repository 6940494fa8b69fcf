// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Everything the backend uses of this node; tests pass fakes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/common/netfilter/kernel.hpp"
#include "plugins/common/netlink/socket.hpp"
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
  std::function<std::vector<std::string>(const Settings&, ServerKernel&, bool unsupported)> prepare;
  // Whether the part is in the kernel already. A request to it would load its modules.
  std::function<bool()> has_ipvs;
  std::function<bool()> has_sets;
  // Addresses of one family on links other than kube-ipvs0, for clean-up, which has no node facts.
  std::function<std::set<abi::Address>()> local_addresses;
  VisitConnections connections;  // of one family
  // Local addresses of the connections of this node's processes, of one family. Some may be on kube-ipvs0, the
  // default source of what the node sends to such an address.
  std::function<std::set<abi::Address>()> connected_addresses;
  // The source of this node's packets to other hosts; empty without a default route. IPv4.
  std::function<std::optional<abi::Address>()> usual_source;
  PortClashes::Sockets sockets;
  netlink::OpenRawSocket tracking;  // opens connection tracking; empty: not available
};

// Access to this node. Sends no request yet.
NodeKernels node_kernels(abi::Family family);

}  // namespace sluice::ipvs
