// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a transaction that the kernel has now means for tracked UDP flows: UDP service
// ports as plain values. Costs nothing when no UDP service port is in it. One thread.
#pragma once

#include <memory>

#include "core/node/conntrack_flow.hpp"
#include "core/snapshot/transaction.hpp"

namespace sluice::app {

class ConntrackFeed {
 public:
  node::UdpChange update(const snapshot::Transaction& transaction);

 private:
  node::NodePortScope scope_;
  std::shared_ptr<const snapshot::NodeFacts> facts_;  // that scope_ was made of
};

}  // namespace sluice::app
