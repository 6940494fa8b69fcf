// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Clients that session affinity binds, between the words of the daemon and those of map affinity. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/nftables/kernel/batch.hpp"
#include "plugins/nftables/model/model.hpp"
#include "sluice/abi/affinity.hpp"

namespace sluice::nftables {

// Those of service ports and endpoints that are there.
void tell_clients(const Model& model, const std::vector<RememberedClient>& remembered, abi::AffinitySink& sink);

// Clients of another backend, until there are numbers for them.
class KeptClients {
 public:
  void keep(const abi::ArrayView& clients);
  bool empty() const noexcept { return kept_.empty(); }
  // With the ids and tokens they have now, each once, `most` at the most; those of service ports and endpoints that are not
  // there are passed over.
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
