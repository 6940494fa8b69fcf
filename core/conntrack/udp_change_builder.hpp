// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Converts the UDP service ports of an applied transaction into a UdpChange. A transaction without UDP service ports
// costs nothing. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/conntrack/flow.hpp"
#include "core/snapshot/transaction.hpp"

namespace sluice::conntrack {

class UdpChangeBuilder {
 public:
  // Must be called after the transaction is applied to the kernel.
  UdpChange update(const snapshot::Transaction& transaction);

  // Sets the ports of this node at which the backend relays the service port (abi/relay.hpp): sorted, empty if it does
  // not. Takes effect with the next update that contains the service port.
  void relays(const UdpPortKey& key, std::vector<std::uint16_t> ports);
  bool relays_any() const { return !relays_.empty(); }
  // Sorted, unique.
  std::vector<std::uint16_t> relay_ports() const;

 private:
  void forget_unnamed(const UdpChange& everything);

  std::unordered_map<UdpPortKey, std::vector<std::uint16_t>> relays_;  // no value is empty
  NodePortScope scope_;
  std::shared_ptr<const snapshot::NodeFacts> facts_;  // source of scope_
};

}  // namespace sluice::conntrack
