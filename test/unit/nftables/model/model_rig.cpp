// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/nftables/model/model_rig.hpp"

#include <algorithm>
#include <stdexcept>

#include "plugins/nftables/layout/set_spec.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::test {

using namespace nftables;

namespace {

bool same_chain(const SharedChain& a, const SharedChain& b) { return a.firewall == b.firewall && a.number == b.number; }

}  // namespace

abi::Address rig_node_ip(abi::Family family) {
  return *sdk::parse_address(family == abi::Family::kIpv4 ? "192.168.0.2" : "fd00:9::2", family);
}

void StrictTable::apply(const Changes& changes) {
  for (const SharedChain& chain : changes.chains) {
    for (const SharedChain& other : chains) {
      if (same_chain(chain, other)) throw std::logic_error("number of " + chain.name + " is in use");
      if (chain.name == other.name) throw std::logic_error("chain " + chain.name + " is there already");
    }
    chains.push_back(chain);
  }
  for (const bool remove : {true, false}) {
    for (const ElementWrite& element : changes.elements) {
      if (element.remove != remove) continue;
      if (element.owner == 0 || element.owner >= changes.owners.size())
        throw std::logic_error("an element without an owner");
      const Place place(element.record.set, element.record.key);
      if (remove) {
        if (elements.erase(place) == 0) throw std::logic_error("an element is removed that is not there");
      } else if (!elements.emplace(place, Value{element.record.data, element.comment}).second) {
        throw std::logic_error("an element is added that is there");
      }
    }
  }
}

void StrictTable::remove_chains(const std::vector<SharedChain>& gone) {
  for (const SharedChain& chain : gone) {
    std::erase_if(chains, [&](const SharedChain& other) { return same_chain(chain, other); });
  }
}

std::vector<Record> StrictTable::records() const {
  std::vector<Record> records;
  for (const auto& [place, value] : elements) records.push_back({place.first, place.second, value.data});
  return records;
}

Listing StrictTable::listing(abi::Family family) const {
  Listing listing;
  listing.exists = true;
  for (std::size_t i = 0; i < kSetCount; ++i) {
    SetSpec spec = set_spec(family, static_cast<SetId>(i));
    listing.records[i] = RecordTable(spec.key_size, spec.data_size);
    listing.sets.emplace(spec.name, spec);
  }
  for (const auto& [place, value] : elements) {
    RecordTable& table = listing.records[index(place.first)];
    table.add(place.second.data(), value.data.data(), comment_hash(value.comment));
  }
  for (RecordTable& table : listing.records) table.sort();
  for (const SharedChain& chain : chains) {
    listing.chains.emplace(chain.name, KnownChain());
    listing.dispatch.push_back({chain.firewall, chain.number, chain.name, false});
  }
  return listing;
}

ModelRig::ModelRig(abi::Family of, bool counters, std::uint32_t affinity_ids)
    : family(of), model({of, counters, affinity_ids}) {}

ServicePlan ModelRig::plan(const ServiceSpec& spec) const {
  World world(family);
  return plan_service(family, rig_node_ip(family), world.service(spec));
}

PortId ModelRig::id(const ServiceSpec& spec) {
  return {spec.namespace_name + "/" + spec.name + (spec.port_name.empty() ? "" : ":" + spec.port_name), spec.protocol};
}

std::vector<Model::Conflict> ModelRig::put(const ServiceSpec& spec) {
  model.put(id(spec), plan(spec));
  return model.settle().conflicts;
}

void ModelRig::remove(const ServiceSpec& spec) { model.remove(id(spec)); }

Changes ModelRig::sync() {
  Changes changes = model.take_changes();
  table.apply(changes);
  model.wrote(changes.chains);
  return changes;
}

std::size_t ModelRig::load() {
  const Changes changes = model.take_changes();
  if (!changes.elements.empty()) throw std::logic_error("changes of elements are collected while loading");
  model.wrote(changes.chains);
  const auto all = wanted();
  std::size_t writes = 0;
  for (const auto& [place, value] : all) {
    const auto there = table.elements.find(place);
    if (there == table.elements.end()) {
      ++writes;
    } else if (!(there->second == value)) {
      writes += 2;
    }
  }
  for (const auto& [place, value] : table.elements) writes += all.count(place) == 0;
  table.elements = all;
  table.chains = model.chains();
  return writes;
}

std::map<StrictTable::Place, StrictTable::Value> ModelRig::wanted() const {
  std::map<StrictTable::Place, StrictTable::Value> all;
  for (const PortId& id : model.ids()) {
    model.walk(id, [&](const Record& record, std::string_view comment) {
      const StrictTable::Value value{record.data, std::string(comment)};
      const auto [there, is_new] = all.emplace(StrictTable::Place(record.set, record.key), value);
      const bool shared = record.set == SetId::kClusterIps || record.set == SetId::kHairpin;
      if (!is_new && !shared) throw std::logic_error("two want the same element");
    });
  }
  return all;
}

std::vector<std::string> ModelRig::describe(const ServiceSpec& spec) const {
  std::vector<std::string> lines;
  model.describe(id(spec), [&](const std::string& line) { lines.push_back(line); });
  return lines;
}

}  // namespace sluice::test
