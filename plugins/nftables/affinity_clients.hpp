// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Converts session affinity clients between the ABI and the elements of map affinity. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/nftables/kernel/batch.hpp"
#include "plugins/nftables/model/model.hpp"
#include "sluice/abi/affinity.hpp"

namespace sluice::nftables {

// Exports the clients whose service port and endpoint still exist.
void export_affinity(const Model& model, const std::vector<RememberedClient>& remembered, abi::AffinitySink& sink);

// Clients imported from another backend, kept until the model has assigned affinity ids.
class ImportedClients {
 public:
  void add(const abi::ArrayView& clients);
  bool empty() const noexcept { return kept_.empty(); }
  // Converts each client to its current id and token, without duplicates and at most `most`. Clients whose service
  // port or endpoint no longer exists are skipped.
  std::vector<RememberedClient> find(const Model& model, std::size_t most) const;
  void forget() noexcept { kept_.clear(); }

 private:
  struct Client {
    abi::Address client{};
    EndpointAddress endpoint;
    std::uint32_t remaining = 0;
  };
  std::map<PortId, std::vector<Client>> kept_;
};

}  // namespace sluice::nftables
