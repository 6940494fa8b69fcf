// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which local addresses serve node ports (BEH 5.1, 5.8, 11.4): settings, interface
// addresses and node IPs in, a decision a family out. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/base/ip.hpp"
#include "core/node/addresses.hpp"
#include "core/node/node_ips.hpp"

namespace sluice::node {

struct NodePortSettings {
  bool primary = false;                // the node's own IPs; `ranges` is empty then
  std::vector<base::IpPrefix> ranges;  // empty for a family: all its addresses
  bool operator==(const NodePortSettings&) const = default;
};

struct NodePortAddresses {
  bool match_all = true;                   // every local address; `addresses` is empty then
  std::vector<base::IpAddress> addresses;  // sorted, each once
  bool on_localhost = false;               // IPv4 only: 127.0.0.0/8 is among them
  std::vector<std::string> warnings;       // addresses that were asked for and cannot serve
  bool operator==(const NodePortAddresses&) const = default;
};

// `localhost_node_ports`: whether 127.0.0.0/8 may serve node ports at all; ::1 never
// does, because the kernel does not route what comes from it.
NodePortAddresses choose_node_port_addresses(const NodePortSettings& settings, base::Family family,
                                             const std::vector<InterfaceAddress>& interface_addresses,
                                             const NodeIps& node_ips, bool localhost_node_ports);

// Settings that look like a mistake (BEH 11.7); sentences to be logged once at start.
// `families` are those in use, the primary one first.
std::vector<std::string> check_node_port_families(const NodePortSettings& settings,
                                                  const std::vector<base::Family>& families);

}  // namespace sluice::node
