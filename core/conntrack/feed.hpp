// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a transaction that the kernel has now means for tracked UDP flows: UDP service
// ports as plain values. Costs nothing when no UDP service port is in it. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/conntrack/flow.hpp"
#include "core/snapshot/transaction.hpp"

namespace sluice::conntrack {

class ConntrackFeed {
 public:
  // The kernel has the transaction now.
  UdpChange update(const snapshot::Transaction& transaction);

  // The backend receives what is sent to the service port at these ports of the node (abi/relay.hpp); sorted, none: it
  // does not. Counts from the update on that names the service port.
  void relays(const UdpPortKey& key, std::vector<std::uint16_t> ports);
  bool relays_any() const { return !relays_.empty(); }
  // All of them, sorted, each once.
  std::vector<std::uint16_t> relay_ports() const;

 private:
  void forget_unnamed(const UdpChange& everything);

  std::unordered_map<UdpPortKey, std::vector<std::uint16_t>> relays_;  // none is empty
  NodePortScope scope_;
  std::shared_ptr<const snapshot::NodeFacts> facts_;  // that scope_ was made of
};

}  // namespace sluice::conntrack
