// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The desired state of all service ports together, and its changes. Several service ports may want the same address,
// entry or virtual server. Pure.
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

// A service port: printed name and protocol.
using PortId = std::pair<std::string, abi::Protocol>;

// What must be written. Sorted, without duplicates.
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
  // A virtual server that several service ports want.
  struct Conflict {
    ServerKey key;
    std::string owner;  // printed name of the service port that has it
    std::string loser;  // of the one that does not
  };
  // Replaces what `id` wanted. One service port owns each virtual server: frontend addresses go before node ports
  // (BEH case 71), then the present owner keeps it, and the next owner is the first by name. Returns what `id` does
  // not get, and what other service ports lose to it.
  //
  // An external address that is also an endpoint of any service port is withheld: as an address of the node, with all
  // its ports, it would cut the node off from the endpoint.
  std::vector<Conflict> put(const PortId& id, ServicePlan plan);
  // Puts the last plan of `id` again.
  std::vector<Conflict> put_again(const PortId& id);
  // External addresses of `id` that are withheld. Sorted.
  std::vector<abi::Address> withheld(const PortId& id) const;
  // Service ports with an external address that became an endpoint, or no longer is one, since the last call. Each
  // needs put_again(). Sorted, each once.
  std::vector<PortId> take_affected();
  void remove(const PortId& id);
  void clear();

  // Changes since the last call. The cost depends on the changes, not on the cluster.
  Changes take_changes();
  // Everything, as if the kernel were empty.
  Changes everything() const;

  // Records which of these servers are not in the kernel. Entries and addresses that only they need are not wanted
  // until they are; take_changes() returns the effect. Survives clear().
  void note_put(const std::vector<WantedServer>& servers, const std::set<ServerKey>& missing);
  // These virtual servers are foreign: their frontends are no longer wanted.
  void exclude(const std::set<ServerKey>& foreign);

  bool wants(const SetItem& item) const;
  bool wants(const abi::Address& address) const;
  bool wants(const ServerKey& key) const;
  // The service port that owns it; null for none.
  const PortId* owner(const ServerKey& key) const;
  // It is a node port of its owner.
  bool is_node_port(const ServerKey& key) const;
  // At least one virtual server that it wants is not known to be missing.
  bool is_served(const PortId& id) const;
  // Its plan; null for none.
  const ServicePlan* find(const PortId& id) const;
  std::set<ServerKey> closed() const;  // all that KUBE-IPVS-OUT-FILTER drops
  std::vector<PortId> ids() const;
  // Node ports with the printed name of their service port.
  std::map<std::pair<abi::Protocol, std::uint16_t>, std::string> node_ports() const;
  std::size_t size() const noexcept;
  // Service ports that got a virtual server since the last call, because its owner went. Sorted, each once.
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
