// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which entries and addresses of a plan belong to which of its virtual servers: what is not served has none. Pure.
#pragma once

#include <functional>
#include <vector>

#include "plugins/ipvs/plan.hpp"

namespace sluice::ipvs {

// What of a plan stands without some of its virtual servers.
class Frontends {
 public:
  // `missing`: some of the plan's, which outlives this.
  Frontends(const ServicePlan& plan, std::vector<ServerKey> missing);

  bool has(const ServerKey& key) const;
  // An address goes with the last virtual server there, the entry of a port alone with the last one of the node port.
  bool has(const abi::Address& address) const;
  bool has(const SetItem& item) const;

 private:
  const ServicePlan& plan_;
  std::vector<ServerKey> missing_;
};

// Takes the frontends out of a plan whose virtual servers are `foreign`; returns the keys of these. A node port of TCP or
// UDP goes at all addresses when it is foreign at one: its entry names no address, and to the next process it would say
// that the foreign virtual server is ours.
std::vector<ServerKey> leave_out(ServicePlan& plan, const std::function<bool(const ServerKey&)>& foreign);

}  // namespace sluice::ipvs
