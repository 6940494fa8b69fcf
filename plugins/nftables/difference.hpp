// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What one listing of the table lacks, and what it has that nobody wants. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "plugins/nftables/kernel/batch.hpp"
#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/layout/layout.hpp"
#include "plugins/nftables/model/model.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::nftables {

// What is wanted beside the service ports.
struct TableFacts {
  LayoutFacts layout;
  std::uint32_t affinity_clients = 0;
  std::vector<abi::Address> node_port_ips;  // sorted; of set nodeport-ips
  friend bool operator==(const TableFacts&, const TableFacts&) = default;
};

// A table whose sets and base chains are as ours, so that the rest can be changed in it. One that is not there fits,
// too.
bool has_our_shape(const TableFacts& facts, const Listing& seen);

// Chains so that each goes to earlier ones only.
std::vector<const SharedChain*> in_order(const std::vector<SharedChain>& chains);
ChainSpec chain_spec(const LayoutFacts& facts, const SharedChain& chain);

// One comparison. Everything given outlives it; elements of `seen` are marked.
class Difference {
 public:
  Difference(const TableFacts& facts, const Model& model, Listing& seen);

  // The table is replaced as a whole: everything has to go into one batch, so that there is no moment without.
  bool replaces() const noexcept { return replaces_; }

  // Table, sets, chains but base chains, the dispatch of those, addresses of node ports.
  void add_frame(Batch& batch);
  // After it: packets come here from then on.
  void add_base_chains(Batch& batch) const;
  // Elements of one service port, with an owner of its own when there are any.
  void add(const PortId& id, Batch& batch);
  // Behind everything: elements nobody wants, at most `most`; true when there may be more.
  bool remove_elements(Batch& batch, std::size_t most);
  // Chains that Services share and nobody knows, and dispatch of numbers nobody knows: they harm nobody, and go later.
  std::vector<std::string> unknown_chains() const;
  std::vector<DispatchWrite> unknown_dispatch() const;

 private:
  void add_record(const Record& record, std::string_view comment, Owner owner, Batch& batch);
  void add_chain(ChainSpec spec, Batch& batch) const;

  const TableFacts& facts_;
  const Model& model_;
  Listing& seen_;
  const bool replaces_;
  std::set<Key> added_[2];    // of sets whose elements service ports share: kClusterIps, kHairpin
  std::size_t next_set_ = 0;  // where remove_elements() goes on
  std::size_t next_place_ = 0;
};

}  // namespace sluice::nftables
