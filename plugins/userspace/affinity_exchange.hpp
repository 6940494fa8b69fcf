// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Imports session affinity from, and exports it to, other backends. Apply thread only.
#pragma once

#include <map>
#include <vector>

#include "plugins/userspace/balancer/balancer.hpp"
#include "plugins/userspace/portal/portal_writer.hpp"
#include "sluice/abi/affinity.hpp"

namespace sluice::userspace {

class ServiceTable;

class AffinityExchange final : public abi::Affinity {
 public:
  // Sets the active table, which receives what was imported before; null: none.
  void set_table(ServiceTable* table);

  abi::Code export_clients(abi::AffinitySink* sink, abi::Error* error) noexcept override;
  abi::Code import_clients(abi::ArrayView clients, abi::Error* error) noexcept override;

 private:
  ServiceTable* table_ = nullptr;
  std::map<PortalId, std::vector<Balancer::Binding>> imported_;  // until there is a table
};

}  // namespace sluice::userspace
