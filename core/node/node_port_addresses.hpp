// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Selects the local addresses that serve node ports in one address family (BEH 5.1, 5.8, 11.4), from settings,
// interface addresses and node IPs.
#pragma once

#include <string>
#include <vector>

#include "core/node/addresses.hpp"
#include "core/node/node_ips.hpp"
#include "lib/ip.hpp"

namespace sluice::node {

struct NodePortSettings {
  bool primary = false;                // only the node IPs; `ranges` is empty then
  std::vector<lib::IpPrefix> ranges;  // a family without ranges uses all its addresses
  bool operator==(const NodePortSettings&) const = default;
};

struct NodePortAddresses {
  bool match_all = true;                   // every local address; `addresses` is empty then
  std::vector<lib::IpAddress> addresses;  // sorted, without duplicates
  bool on_localhost = false;               // IPv4 only: 127.0.0.0/8 is among them
  std::vector<std::string> warnings;       // about configured addresses that cannot serve node ports
  bool operator==(const NodePortAddresses&) const = default;
};

// `localhost_node_ports`: whether 127.0.0.0/8 may serve node ports. ::1 never does, because the kernel does not route
// packets from it.
NodePortAddresses choose_node_port_addresses(const NodePortSettings& settings, lib::Family family,
                                             const std::vector<InterfaceAddress>& interface_addresses,
                                             const NodeIps& node_ips, bool localhost_node_ports);

// Warnings about settings that are probably mistakes (BEH 11.7), to be logged once at start. `families` are those in
// use, the primary one first.
std::vector<std::string> check_node_port_families(const NodePortSettings& settings,
                                                  const std::vector<lib::Family>& families);

}  // namespace sluice::node
