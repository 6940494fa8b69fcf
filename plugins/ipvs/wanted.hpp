// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What all service ports together want, and what changes when one of them does. Several of them may want the same
// address, entry or virtual server. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/ipvs/plan.hpp"

namespace sluice::ipvs {

// Of a service port: printed name and protocol.
using PortId = std::pair<std::string, abi::Protocol>;

// What is to be written. Sorted, without duplicates.
struct Changes {
  std::vector<WantedServer> put;
  std::vector<ServerKey> drop;
  std::vector<SetItem> add;
  std::vector<SetItem> remove;
  std::vector<abi::Address> bind;
  std::vector<abi::Address> unbind;
  // Of KUBE-IPVS-OUT-FILTER.
  std::vector<ServerKey> close;
  std::vector<ServerKey> reopen;
};

class Wanted {
 public:
  // A virtual server that somebody wants and another one has.
  struct Conflict {
    ServerKey key;
    std::string owner;  // printed name of the service port that has it
    std::string loser;  // of the one that does not
  };
  // Replaces what `id` wanted. Of several that want a virtual server one has it: whose own address it is goes before
  // whose node port it is (BEH case 71); then, whoever had it first keeps it until it goes, and the next in the order
  // of names gets it. Returns what `id` does not get, and what others lose to it.
  //
  // An external address that is an endpoint of any service port is withheld: it would become an address of the node,
  // with all of its ports, and the node could no longer reach the endpoint.
  std::vector<Conflict> put(const PortId& id, ServicePlan plan);
  // Puts the last plan of `id` again.
  std::vector<Conflict> put_again(const PortId& id);
  // External addresses of `id` that are withheld. Sorted.
  std::vector<abi::Address> withheld(const PortId& id) const;
  // Service ports that list an external address which became an endpoint's, or is none any more, since the last call.
  // Each needs put_again(). Sorted, each once.
  std::vector<PortId> take_concerned();
  void remove(const PortId& id);
  void clear();

  // What has changed since the last call. Order of size of the changes, not of the cluster.
  Changes take_changes();
  // Everything, as if nothing had been there before.
  Changes everything() const;

  // These were put, and some of them are not in the kernel. Until they are, entries and addresses of their frontends
  // alone are not wanted; what that changes comes with take_changes(). Survives clear().
  void tried(const std::vector<WantedServer>& servers, const std::set<ServerKey>& missing);
  // These belong to somebody else: nobody wants their frontends any more.
  void leave_out(const std::set<ServerKey>& foreign);

  bool wants(const SetItem& item) const;
  bool wants(const abi::Address& address) const;
  bool wants(const ServerKey& key) const;
  // The service port that has it; null for none.
  const PortId* owner(const ServerKey& key) const;
  // It is that of a node port of its owner.
  bool is_node_port(const ServerKey& key) const;
  // Some virtual server that it wants is not known to be missing.
  bool is_served(const PortId& id) const;
  // What it wants; null for none.
  const ServicePlan* find(const PortId& id) const;
  std::set<ServerKey> closed() const;  // all that KUBE-IPVS-OUT-FILTER drops
  std::vector<PortId> ids() const;
  // And to which service port, by printed name, each belongs.
  std::map<std::pair<abi::Protocol, std::uint16_t>, std::string> node_ports() const;
  std::size_t size() const noexcept;
  // Those that got a virtual server since the last call, because somebody else went. Sorted, each once.
  std::vector<PortId> take_gained();

  Wanted();
  ~Wanted();
  Wanted(const Wanted&) = delete;
  Wanted& operator=(const Wanted&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::ipvs
