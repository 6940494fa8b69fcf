// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Session affinity as other backends know it, and as they are told of it. The apply thread
// only.
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
  // From now on this one serves, and gets what was imported before; null: nobody.
  void set_table(ServiceTable* table);

  abi::Code export_clients(abi::AffinitySink* sink, abi::Error* error) noexcept override;
  abi::Code import_clients(abi::ArrayView clients, abi::Error* error) noexcept override;

 private:
  ServiceTable* table_ = nullptr;
  std::map<PortalId, std::vector<Balancer::Binding>> imported_;  // before there was a table
};

}  // namespace sluice::userspace
