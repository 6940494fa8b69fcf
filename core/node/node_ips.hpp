// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The node's own address of each family, and which family comes first (BEH 11.4). Pure.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/base/ip.hpp"

namespace sluice::node {

struct NodeIps {
  base::Family primary = base::Family::ipv4;
  // By base::family_index(); loopback while nothing better is known.
  std::array<base::IpAddress, 2> ips{base::IpAddress::loopback(base::Family::ipv4),
                                     base::IpAddress::loopback(base::Family::ipv6)};

  const base::IpAddress& of(base::Family family) const { return ips[base::family_index(family)]; }
  bool operator==(const NodeIps&) const = default;
};

// `node_addresses`: the Node's InternalIP entries in order, then its ExternalIP ones;
// the first of each family counts, the very first decides the primary family. A
// `bind_address` that is not 0.0.0.0 or :: replaces the address of its family and
// makes that family primary.
NodeIps choose_node_ips(const std::vector<base::IpAddress>& node_addresses, const base::IpAddress& bind_address);

// What the process is called in the cluster: `override_name` or, when that is empty,
// `host_name`; blanks around it removed, lower case. Empty when there is no name.
std::string normalized_node_name(std::string_view override_name, std::string_view host_name);

}  // namespace sluice::node
