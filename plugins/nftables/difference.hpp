// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Compares one listing of the table with the wanted state: what is missing, and what is not wanted. Pure.
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

// The wanted state apart from service ports.
struct TableFacts {
  LayoutFacts layout;
  std::uint32_t affinity_clients = 0;
  std::vector<abi::Address> node_port_ips;  // sorted; of set nodeport-ips
  friend bool operator==(const TableFacts&, const TableFacts&) = default;
};

// Whether all sets and base chains have the expected shape, so that the table can be updated in place. True if the
// table does not exist.
bool has_our_shape(const TableFacts& facts, const Listing& listing);

// Whether two sets can stand for each other: a set with other settings must be replaced.
bool same_settings(const SetSpec& a, const SetSpec& b);

// Whether several service ports may need the same element of the set.
bool is_shared(SetId set);
// Whether a comparison ignores the comments of the set's elements.
bool ignores_comment(SetId set);

// Orders the chains so that each refers to earlier ones only.
std::vector<const SharedChain*> in_order(const std::vector<SharedChain>& chains);
ChainSpec chain_spec(const LayoutFacts& facts, const SharedChain& chain);

// One comparison. All arguments outlive it; elements of `listing` are marked.
class Difference {
 public:
  Difference(const TableFacts& facts, const Model& model, Listing& listing);

  // The table is replaced as a whole, in one batch, so that it is never absent.
  bool replaces() const noexcept { return replaces_; }

  // Adds the table, sets, all chains except base chains, the dispatch elements, and node port addresses. The rules that
  // drop packets to unallocated cluster IPs are missing.
  void add_frame(Batch& batch);
  // Call after add_frame(): base chains attach the table to the packet path.
  void add_base_chains(Batch& batch) const;
  // Elements of one service port. They get their own owner, if there are any.
  void add(const PortId& id, Batch& batch);
  // Call last. Adds the removal of at most `most` unwanted elements; returns true if there may be more.
  bool remove_elements(Batch& batch, std::size_t most);
  // Call after all service ports: until then a packet to a service port that is not yet written would be dropped, and
  // its client would send the next SYN a second later.
  void add_drop_of_unallocated(Batch& batch) const;
  // Shared chains and dispatch elements that the model does not have. No element leads to them, so they are removed
  // later.
  std::vector<std::string> unknown_chains() const;
  std::vector<DispatchWrite> unknown_dispatch() const;

 private:
  void add_record(const Record& record, std::string_view comment, Owner owner, Batch& batch);
  void add_chain(ChainSpec spec, Batch& batch) const;

  const TableFacts& facts_;
  const Model& model_;
  Listing& listing_;
  const bool replaces_;
  std::set<Key> added_[2];    // of sets whose elements service ports share: kClusterIps, kHairpin
  std::size_t next_set_ = 0;  // where remove_elements() continues
  std::size_t next_place_ = 0;
};

}  // namespace sluice::nftables
