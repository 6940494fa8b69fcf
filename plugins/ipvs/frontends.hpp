// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which entries and addresses of a plan belong to which of its virtual servers. Pure.
#pragma once

#include <functional>
#include <vector>

#include "plugins/ipvs/plan.hpp"

namespace sluice::ipvs {

// The part of a plan that remains without some of its virtual servers.
class Frontends {
 public:
  // `missing`: a subset of the plan's servers. `plan` outlives this.
  Frontends(const ServicePlan& plan, std::vector<ServerKey> missing);

  bool has(const ServerKey& key) const;
  // An address remains while one virtual server uses it; an entry of a port alone, while one virtual server of the
  // node port remains.
  bool has(const abi::Address& address) const;
  bool has(const SetItem& item) const;

 private:
  const ServicePlan& plan_;
  std::vector<ServerKey> missing_;
};

// Removes the frontends whose virtual servers are `foreign` from a plan and returns their keys. A TCP or UDP node
// port is removed at all addresses if it is foreign at one: its set entry has no address, so the next process would
// take the foreign virtual server for ours.
std::vector<ServerKey> remove_frontends(ServicePlan& plan, const std::function<bool(const ServerKey&)>& foreign);

}  // namespace sluice::ipvs
