// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A model with a table as strict as the kernel's behind it, for tests of the model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/model/model.hpp"
#include "test/unit/iptables/world.hpp"
#include "test/unit/nftables/table_model.hpp"

namespace sluice::test {

// What the kernel has: nothing is replaced, nothing is removed that is not there.
struct StrictTable {
  struct Value {
    nftables::Data data;
    std::string comment;
    friend bool operator==(const Value&, const Value&) = default;
  };
  using Place = std::pair<nftables::SetId, nftables::Key>;
  std::map<Place, Value> elements;
  std::vector<nftables::SharedChain> chains;

  // Throws std::logic_error where the kernel would refuse.
  void apply(const nftables::Changes& changes);
  void remove_chains(const std::vector<nftables::SharedChain>& gone);
  std::vector<nftables::Record> records() const;
  nftables::Listing listing(abi::Family family) const;
};

class ModelRig {
 public:
  explicit ModelRig(abi::Family family = abi::Family::kIpv4, bool counters = false,
                    std::uint32_t affinity_ids = nftables::kMaxAffinityNumber);

  nftables::ServicePlan plan(const ServiceSpec& spec) const;
  std::vector<nftables::Model::Conflict> put(const ServiceSpec& spec);
  void remove(const ServiceSpec& spec);
  static nftables::PortId id(const ServiceSpec& spec);

  // What changed goes into the table. Returns it.
  nftables::Changes sync();
  // Everything is compared, as after a start. Returns how many elements were written: added or removed.
  std::size_t load();
  // All the model wants.
  std::map<StrictTable::Place, StrictTable::Value> wanted() const;
  std::vector<std::string> describe(const ServiceSpec& spec) const;
  TableModel reading() const { return {family, table.records(), table.chains}; }

  abi::Family family;
  nftables::Model model;
  StrictTable table;
};

// Of the node all plans are made for.
abi::Address rig_node_ip(abi::Family family);

}  // namespace sluice::test
