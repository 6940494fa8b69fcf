// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Virtual servers of IPVS, by generic netlink: no program ipvsadm is needed. IPVS is also
// used without Kubernetes, so only what kube-proxy's other artifacts say is its own goes.
// One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/ip.hpp"
#include "core/base/status.hpp"
#include "core/cleanup/ipsets.hpp"
#include "core/cleanup/removal.hpp"

struct nlattr;

namespace sluice::cleanup {

struct VirtualServer {
  base::IpAddress address;
  std::uint8_t protocol = 0;
  std::uint16_t port = 0;
  std::string to_string() const;
  auto operator<=>(const VirtualServer&) const = default;
};

// What is known of kube-proxy's ipvs mode on this node. Pure.
class IpvsOwnership {
 public:
  // An address of the link kube-ipvs0.
  void bound(const base::IpAddress& address) { bound_.insert(address); }
  // An address of another link, or of the past.
  void local(const base::IpAddress& address) { local_.insert(address); }
  // An entry of one of kube-proxy's sets.
  void listed(std::string_view set, const SetEntry& entry);

  // Made by kube-proxy: its address is bound on kube-ipvs0, or it stands in a set of
  // Services, or it is a listed node port of an address that this node has, or had when it was made.
  bool is_ours(const VirtualServer& server) const;
  // Nothing of that mode is here: no virtual server can be its.
  bool knows_nothing() const { return bound_.empty() && fronts_.empty() && node_ports_.empty(); }

 private:
  using NodePort = std::tuple<base::Family, std::uint8_t, std::uint16_t>;
  std::set<base::IpAddress> bound_;
  std::set<base::IpAddress> local_;
  std::set<VirtualServer> fronts_;
  std::set<NodePort> node_ports_;
};

// Looks at this node. What cannot be read of the sets is as good as not there.
base::Result<IpvsOwnership> read_ipvs_ownership();

// The service in the attributes of one answer of the kernel; empty for one by firewall mark.
std::optional<VirtualServer> parse_virtual_server(const nlattr* service);

// Removes kube-proxy's virtual servers, with their destinations. To be called while
// kube-ipvs0 and the sets are still there, as these tell which ones. A kernel without IPVS
// has none. Adds to `into`.
void remove_virtual_servers(Removal& into);

}  // namespace sluice::cleanup
