// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Virtual servers of IPVS through generic netlink, without the ipvsadm program. IPVS is also used without Kubernetes,
// so only servers that kube-proxy's other artifacts identify are removed. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/cleanup/ipsets.hpp"
#include "core/cleanup/removal.hpp"
#include "lib/ip.hpp"
#include "lib/status.hpp"

struct nlattr;

namespace sluice::cleanup {

struct VirtualServer {
  lib::IpAddress address;
  std::uint8_t protocol = 0;
  std::uint16_t port = 0;
  std::string to_string() const;
  auto operator<=>(const VirtualServer&) const = default;
};

// Identifies the virtual servers of kube-proxy's ipvs mode on this node. No I/O.
class IpvsOwnership {
 public:
  // An address of the link kube-ipvs0.
  void bound(const lib::IpAddress& address) { bound_.insert(address); }
  // An address that another link has or had.
  void local(const lib::IpAddress& address) { local_.insert(address); }
  // An entry of one of kube-proxy's sets.
  void listed(std::string_view set, const SetEntry& entry);

  // Made by kube-proxy: its address is bound to kube-ipvs0, or it is in a set of Services, or it is a listed node port
  // at an address that this node has or had.
  bool is_ours(const VirtualServer& server) const;
  // ipvs mode left nothing that could identify a virtual server.
  bool empty() const { return bound_.empty() && fronts_.empty() && node_ports_.empty(); }

 private:
  using NodePort = std::tuple<lib::Family, std::uint8_t, std::uint16_t>;
  std::set<lib::IpAddress> bound_;
  std::set<lib::IpAddress> local_;
  std::set<VirtualServer> fronts_;
  std::set<NodePort> node_ports_;
};

// Reads this node. Sets that cannot be read are skipped.
lib::Result<IpvsOwnership> read_ipvs_ownership();

// The virtual server in the attributes of a reply; empty for one by firewall mark.
std::optional<VirtualServer> parse_virtual_server(const nlattr* service);

// Removes kube-proxy's virtual servers with their destinations. Must be called before kube-ipvs0 and the sets are
// removed, which identify them. Adds to `into`.
void remove_virtual_servers(Removal& into);

}  // namespace sluice::cleanup
