// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/node/node_port_addresses.hpp"

#include <algorithm>

#include "lib/text.hpp"

namespace sluice::node {
namespace {

using lib::Family;
using lib::IpAddress;
using lib::IpPrefix;

std::vector<IpPrefix> ranges_of(const NodePortSettings& settings, Family family, const NodeIps& node_ips) {
  std::vector<IpPrefix> out;
  if (settings.primary) {
    // A loopback address means that the node IP is not known: use all addresses.
    const IpAddress& ip = node_ips.of(family);
    if (!ip.is_loopback()) out.emplace_back(ip, lib::family_bits(family));
    return out;
  }
  for (const IpPrefix& range : settings.ranges) {
    if (range.family() == family) out.push_back(range);
  }
  return out;
}

// Whether the range is within 127.0.0.0/8 or contains it.
bool covers_localhost(const IpPrefix& range) {
  static const IpPrefix kLocalhost(IpAddress::loopback(Family::ipv4), 8);
  return kLocalhost.contains(range) || range.contains(kLocalhost);
}

}  // namespace

NodePortAddresses choose_node_port_addresses(const NodePortSettings& settings, Family family,
                                             const std::vector<InterfaceAddress>& interface_addresses,
                                             const NodeIps& node_ips, bool localhost_node_ports) {
  const std::vector<IpPrefix> ranges = ranges_of(settings, family, node_ips);
  const bool may_use_localhost = family == Family::ipv4 && localhost_node_ports;
  NodePortAddresses out;
  out.match_all =
      ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [](const IpPrefix& r) { return r.length() == 0; });
  out.on_localhost =
      may_use_localhost && (out.match_all || std::any_of(ranges.begin(), ranges.end(), covers_localhost));
  if (out.match_all) return out;

  for (const InterfaceAddress& entry : interface_addresses) {
    const bool configured =
        std::any_of(ranges.begin(), ranges.end(), [&](const IpPrefix& range) { return range.contains(entry.address); });
    if (configured) out.addresses.push_back(entry.address);
  }
  lib::sort_unique(out.addresses);
  std::erase_if(out.addresses, [&](const IpAddress& address) {
    if (!address.is_loopback() || may_use_localhost) return false;
    out.warnings.push_back("node ports cannot be served on " + address.to_string() + ": " +
                           (family == Family::ipv6 ? "IPv6 has no node ports on loopback addresses"
                                                   : "node ports on localhost are turned off"));
    return true;
  });
  return out;
}

std::vector<std::string> check_node_port_families(const NodePortSettings& settings,
                                                  const std::vector<Family>& families) {
  if (settings.primary || families.empty()) return {};
  if (settings.ranges.empty()) {
    return {"no node-port addresses are set: node ports are served on all addresses of this node; consider 'primary'"};
  }
  std::vector<std::string> out;
  for (const Family family : families) {
    const bool any = std::any_of(settings.ranges.begin(), settings.ranges.end(),
                                 [&](const IpPrefix& range) { return range.family() == family; });
    if (!any) {
      const std::string name(family_name(family));
      out.push_back("the node-port addresses have no " + name + " range: node ports are served on all " + name +
                    " addresses of this node");
    }
  }
  return out;
}

}  // namespace sluice::node
