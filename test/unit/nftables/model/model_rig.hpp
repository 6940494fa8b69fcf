// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A model on a table as strict as the kernel, for tests of the model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/model/model.hpp"
#include "test/unit/common/world.hpp"
#include "test/unit/nftables/table_model.hpp"

namespace sluice::test {

// The kernel's table: elements are never replaced, and only existing ones are removed.
struct StrictTable {
  struct Value {
    nftables::Data data;
    std::string comment;
    friend bool operator==(const Value&, const Value&) = default;
  };
  using Place = std::pair<nftables::SetId, nftables::Key>;
  std::map<Place, Value> elements;
  std::vector<nftables::SharedChain> chains;

  // Throws std::logic_error if the kernel would refuse.
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

  // Applies and returns the changes.
  nftables::Changes sync();
  // Makes a full comparison, as after a start. Returns the number of elements added or removed.
  std::size_t load();
  // All elements of the model.
  std::map<StrictTable::Place, StrictTable::Value> wanted() const;
  std::vector<std::string> describe(const ServiceSpec& spec) const;
  TableModel reading() const { return {family, table.records(), table.chains}; }

  abi::Family family;
  nftables::Model model;
  StrictTable table;
};

// The node of all plans.
abi::Address rig_node_ip(abi::Family family);

}  // namespace sluice::test
