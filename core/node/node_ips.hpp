// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The node IP of each address family, and the primary family (BEH 11.4).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "lib/ip.hpp"

namespace sluice::node {

struct NodeIps {
  lib::Family primary = lib::Family::ipv4;
  // By lib::family_index(); a loopback address if the node IP is not known.
  std::array<lib::IpAddress, 2> ips{lib::IpAddress::loopback(lib::Family::ipv4),
                                    lib::IpAddress::loopback(lib::Family::ipv6)};

  const lib::IpAddress& of(lib::Family family) const { return ips[lib::family_index(family)]; }
  bool operator==(const NodeIps&) const = default;
};

// `node_addresses`: the Node's InternalIP entries in order, then its ExternalIP entries. The first address of each
// family is used, and the first of all selects the primary family. A `bind_address` other than 0.0.0.0 or :: replaces
// the address of its family and makes that family primary.
NodeIps choose_node_ips(const std::vector<lib::IpAddress>& node_addresses, const lib::IpAddress& bind_address);

// The node name: `override_name`, or `host_name` if that is empty; without surrounding white space, in lower case.
std::string normalized_node_name(std::string_view override_name, std::string_view host_name);

}  // namespace sluice::node
