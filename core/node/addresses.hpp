// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The addresses of all network interfaces, as the kernel has them now.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ip.hpp"
#include "core/base/status.hpp"

namespace sluice::node {

// The kernel's scopes, reduced to those that matter here.
enum class AddressScope : std::uint8_t { global, link, host };

struct InterfaceAddress {
  base::IpAddress address;
  int prefix_length = 0;
  AddressScope scope = AddressScope::global;
  bool loopback_interface = false;
  std::string interface_name;
  auto operator<=>(const InterfaceAddress&) const = default;
};

// Both families, sorted; one netlink dump of links and one of addresses. An IPv6
// address on which duplicate detection failed is left out: nothing can reach it.
base::Result<std::vector<InterfaceAddress>> read_interface_addresses();

// The same without those of kube-ipvs0, which are addresses of Services and not of the node (BEH 6.2), whichever mode is
// in use: another one may have left them.
base::Result<std::vector<InterfaceAddress>> read_node_addresses();

// All addresses of one family but 127.0.0.0/8 and ::1, whatever interface has them;
// sorted, each once.
std::vector<base::IpAddress> local_addresses(const std::vector<InterfaceAddress>& all, base::Family family);

}  // namespace sluice::node
