// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/wanted_listing.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "plugins/nftables/kernel/encoder.hpp"
#include "plugins/nftables/kernel/table_reader.hpp"

namespace sluice::nftables {
namespace {

void add_chain(ChainSpec spec, Listing& listing) {
  KnownChain chain{spec.is_base, spec.hook, std::move(spec.rules)};
  for (Rule& rule : chain.rules) rule.expressions.clear();
  listing.chains.emplace(std::move(spec.name), std::move(chain));
}

void add_record(const Record& record, std::string_view comment, Listing& listing) {
  listing.records[index(record.set)].add(record.key.data(), record.data.data(), comment_hash(comment));
}

bool same_elements(SetId id, const RecordTable& a, const RecordTable& b) {
  const bool ignores_comments = ignores_comment(id);
  if (a.size() != b.size()) return false;
  for (std::size_t place = 0; place < a.size(); ++place) {
    if (!(a.key(place) == b.key(place) && a.data(place) == b.data(place))) return false;
    if (!ignores_comments && a.comment(place) != b.comment(place)) return false;
  }
  return true;
}

bool same_dispatch(std::vector<DispatchWrite> a, std::vector<DispatchWrite> b) {
  const auto order = [](const DispatchWrite& one) { return std::tie(one.firewall, one.number, one.chain); };
  for (auto* all : {&a, &b}) {
    std::sort(all->begin(), all->end(),
              [&](const DispatchWrite& one, const DispatchWrite& other) { return order(one) < order(other); });
  }
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const DispatchWrite& one, const DispatchWrite& other) { return order(one) == order(other); });
}

}  // namespace

Listing wanted_frame(const TableFacts& facts, const Model& model) {
  const abi::Family family = facts.layout.family;
  Listing listing;
  listing.exists = true;
  for (SetSpec& spec : all_sets(family, facts.layout.lists_frontends(), facts.affinity_clients)) {
    std::string name = spec.name;
    listing.sets.emplace(std::move(name), std::move(spec));
  }
  for (ChainSpec& spec : fixed_chains(facts.layout)) add_chain(std::move(spec), listing);
  for (const SharedChain& chain : model.chains()) {
    add_chain(chain_spec(facts.layout, chain), listing);
    listing.dispatch.push_back({chain.firewall, chain.number, chain.name, false});
  }
  return listing;
}

Listing wanted_listing(const TableFacts& facts, const Model& model) {
  const abi::Family family = facts.layout.family;
  Listing listing = wanted_frame(facts, model);
  for (std::size_t i = 0; i < kSetCount; ++i) {
    const SetSpec spec = set_spec(family, static_cast<SetId>(i));
    if (listing.sets.contains(spec.name)) listing.records[i] = RecordTable(spec.key_size, spec.data_size);
  }
  for (const abi::Address& address : facts.node_port_ips) {
    add_record({SetId::kNodePortIps, address_key(family, address), {}}, {}, listing);
  }
  for (const PortId& id : model.ids()) {
    model.walk(id, [&](const Record& record, std::string_view comment) { add_record(record, comment, listing); });
  }
  for (RecordTable& records : listing.records) records.sort();
  return listing;
}

std::optional<std::string> first_difference(const Listing& wanted, const Listing& there) {
  if (!there.exists) return "the table does not exist";
  const auto same_name = [](const auto& one, const auto& other) { return one.first == other.first; };
  if (!std::equal(wanted.sets.begin(), wanted.sets.end(), there.sets.begin(), there.sets.end(), same_name)) {
    return "the sets differ";
  }
  for (const auto& [name, spec] : wanted.sets) {
    const SetSpec& other = there.sets.find(name)->second;
    if (!same_shape(spec, other) || spec.capacity != other.capacity || spec.timeout_ms != other.timeout_ms) {
      return "set " + name + " has another shape";
    }
  }
  if (!std::equal(wanted.chains.begin(), wanted.chains.end(), there.chains.begin(), there.chains.end(), same_name)) {
    return "the chains differ";
  }
  for (const auto& [name, chain] : wanted.chains) {
    const KnownChain& other = there.chains.find(name)->second;
    if (chain.is_base != other.is_base || !(chain.hook == other.hook) || chain.rules != other.rules) {
      return "chain " + name + " differs";
    }
  }
  if (!same_dispatch(wanted.dispatch, there.dispatch)) return "the elements that lead to shared chains differ";
  for (std::size_t i = 0; i < kSetCount; ++i) {
    const auto id = static_cast<SetId>(i);
    if (!same_elements(id, wanted.records[i], there.records[i])) {
      return "the elements of " + set_name(abi::Family::kIpv4, id) + " differ";
    }
  }
  return std::nullopt;
}

}  // namespace sluice::nftables
