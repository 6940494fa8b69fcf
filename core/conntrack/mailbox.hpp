// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Changes that arrive during a scan, merged: the latest state of each service port, and the work that superseded states
// left. Bounded by the number of UDP service ports. No I/O; the owner locks.
#pragma once

#include <unordered_map>

#include "core/conntrack/flow.hpp"
#include "core/conntrack/work.hpp"

namespace sluice::conntrack {

class ConntrackMailbox {
 public:
  struct Contents {
    UdpChange change;
    ConntrackWork work;
  };

  void put(UdpChange change);
  bool empty() const { return !any_; }
  Contents take();

 private:
  using Ports = std::unordered_map<UdpPortKey, UdpPortPtr>;

  bool any_ = false;
  bool full_ = false;
  Ports ports_;
  std::shared_ptr<const NodePortScope> node_ports_;
  ConntrackWork work_;
};

}  // namespace sluice::conntrack
