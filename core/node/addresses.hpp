// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The addresses of all network interfaces, read from the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/ip.hpp"
#include "lib/status.hpp"

namespace sluice::node {

// The kernel's address scopes, reduced to those that make a difference here.
enum class AddressScope : std::uint8_t { global, link, host };

struct InterfaceAddress {
  lib::IpAddress address;
  int prefix_length = 0;
  AddressScope scope = AddressScope::global;
  bool loopback_interface = false;
  std::string interface_name;
  auto operator<=>(const InterfaceAddress&) const = default;
};

// Addresses of both families, sorted. IPv6 addresses that failed duplicate address detection are omitted, because they
// are unreachable.
lib::Result<std::vector<InterfaceAddress>> read_interface_addresses();

// The same without addresses of kube-ipvs0, which belong to Services and not to the node (BEH 6.2). They are removed in
// every mode, because they may be leftover state of ipvs mode.
lib::Result<std::vector<InterfaceAddress>> read_node_addresses();

// All addresses of one family except 127.0.0.0/8 and ::1; sorted, without duplicates.
std::vector<lib::IpAddress> local_addresses(const std::vector<InterfaceAddress>& all, lib::Family family);

}  // namespace sluice::node
