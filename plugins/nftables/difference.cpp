// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/difference.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace sluice::nftables {
namespace {

// Sets that lead to other elements are emptied first, so that no packet meets half of a service port.
constexpr SetId kRemovalOrder[] = {SetId::kServiceIps,
                                   SetId::kServiceNodePorts,
                                   SetId::kFirewallIps,
                                   SetId::kNoEndpointServices,
                                   SetId::kNoEndpointNodePorts,
                                   SetId::kNoLocalServices,
                                   SetId::kNoLocalNodePorts,
                                   SetId::kAffinityServices,
                                   SetId::kAffinityNodePorts,
                                   SetId::kEndpoints,
                                   SetId::kNodePortEndpoints,
                                   SetId::kAffinitySlots,
                                   SetId::kAffinityEndpoints,
                                   SetId::kAffinityLocalEndpoints,
                                   SetId::kHairpin,
                                   SetId::kClusterIps,
                                   SetId::kNodePortIps,
                                   SetId::kServiceTraffic,
                                   SetId::kNodePortTraffic};
static_assert(std::size(kRemovalOrder) == kSetCount);

auto shape(const SetSpec& spec) {
  return std::tie(spec.flags, spec.key_type, spec.key_size, spec.data_type, spec.data_size, spec.capacity,
                  spec.timeout_ms, spec.counters);
}

std::vector<SetSpec> wanted_sets(const TableFacts& facts) {
  return all_sets(facts.layout.family, facts.layout.lists_frontends(), facts.affinity_clients);
}

}  // namespace

bool same_settings(const SetSpec& a, const SetSpec& b) { return shape(a) == shape(b); }

bool is_shared(SetId set) { return set == SetId::kClusterIps || set == SetId::kHairpin; }

bool ignores_comment(SetId set) { return is_shared(set) || set == SetId::kNodePortIps; }

bool has_our_shape(const TableFacts& facts, const Listing& listing) {
  if (!listing.exists) return true;
  std::map<std::string, SetSpec, std::less<>> sets;
  for (SetSpec& spec : wanted_sets(facts)) {
    std::string name = spec.name;
    sets.emplace(std::move(name), std::move(spec));
  }
  for (const auto& [name, spec] : listing.sets) {
    const auto wanted = sets.find(name);
    if (wanted == sets.end() || !same_settings(wanted->second, spec)) return false;
  }
  std::map<std::string, ChainSpec, std::less<>> chains;
  for (ChainSpec& spec : fixed_chains(facts.layout)) {
    std::string name = spec.name;
    chains.emplace(std::move(name), std::move(spec));
  }
  for (const auto& [name, chain] : listing.chains) {
    const auto wanted = chains.find(name);
    if (wanted == chains.end()) {
      if (chain.is_base || !is_shared_chain(name)) return false;
    } else if (wanted->second.is_base != chain.is_base || (chain.is_base && !(wanted->second.hook == chain.hook))) {
      return false;
    }
  }
  return true;
}

std::vector<const SharedChain*> in_order(const std::vector<SharedChain>& chains) {
  std::vector<const SharedChain*> ordered;
  for (const bool refers : {false, true}) {
    for (const SharedChain& chain : chains) {
      if ((!chain.firewall && !depends_on(chain.service_class).empty()) == refers) ordered.push_back(&chain);
    }
  }
  return ordered;
}

ChainSpec chain_spec(const LayoutFacts& facts, const SharedChain& chain) {
  return chain.firewall ? firewall_chain(facts, chain.allowed) : class_chain(facts, chain.service_class);
}

Difference::Difference(const TableFacts& facts, const Model& model, Listing& listing)
    : facts_(facts), model_(model), listing_(listing), replaces_(!has_our_shape(facts, listing)) {
  if (!replaces_) return;
  listing_ = Listing();
  listing_.exists = true;
}

void Difference::add_chain(ChainSpec spec, Batch& batch) const {
  const auto known = listing_.chains.find(spec.name);
  const bool create = known == listing_.chains.end();
  if (!create && known->second.rules == spec.rules) return;
  // The kernel keeps a flowtable while a rule refers to it.
  if (spec.name == kOffloadChain) batch.create_flowtable = true;
  batch.chains.push_back({std::move(spec), create});
}

void Difference::add_frame(Batch& batch) {
  batch.delete_table = replaces_;
  batch.create_table = replaces_ || !listing_.exists;
  for (SetSpec& spec : wanted_sets(facts_)) {
    if (!listing_.sets.contains(spec.name)) batch.create_sets.push_back(std::move(spec));
  }
  LayoutFacts layout = facts_.layout;
  layout.service_cidrs.clear();
  for (ChainSpec& spec : fixed_chains(layout)) {
    const bool waits = spec.name == kClusterIpsCheck && listing_.chains.contains(spec.name);
    if (!spec.is_base && !waits) add_chain(std::move(spec), batch);
  }
  std::map<std::pair<bool, std::uint32_t>, const DispatchWrite*> dispatch;
  for (const DispatchWrite& one : listing_.dispatch) dispatch.emplace(std::pair(one.firewall, one.number), &one);
  for (const SharedChain* const chain : in_order(model_.chains())) {
    add_chain(chain_spec(facts_.layout, *chain), batch);
    const auto known = dispatch.find({chain->firewall, chain->number});
    if (known != dispatch.end()) {
      if (known->second->chain == chain->name) continue;
      batch.dispatch.push_back({chain->firewall, chain->number, known->second->chain, true});
    }
    batch.dispatch.push_back({chain->firewall, chain->number, chain->name, false});
  }
  for (const abi::Address& address : facts_.node_port_ips) {
    add_record({SetId::kNodePortIps, address_key(facts_.layout.family, address), {}}, {}, 0, batch);
  }
}

void Difference::add_base_chains(Batch& batch) const {
  for (ChainSpec& spec : fixed_chains(facts_.layout)) {
    if (spec.is_base) add_chain(std::move(spec), batch);
  }
}

void Difference::add_drop_of_unallocated(Batch& batch) const {
  const auto known = listing_.chains.find(kClusterIpsCheck);
  const bool created = known == listing_.chains.end();
  if (created && facts_.layout.service_cidrs.empty()) return;
  std::vector<ChainSpec> chains = fixed_chains(facts_.layout);
  const auto wanted =
      std::find_if(chains.begin(), chains.end(), [](const ChainSpec& spec) { return spec.name == kClusterIpsCheck; });
  const auto same_batch = std::find_if(batch.chains.begin(), batch.chains.end(),
                                       [](const ChainWrite& one) { return one.spec.name == kClusterIpsCheck; });
  if (same_batch != batch.chains.end()) {
    same_batch->spec = std::move(*wanted);
  } else if (created || known->second.rules != wanted->rules) {
    batch.chains.push_back({std::move(*wanted), false});
  }
}

void Difference::add(const PortId& id, Batch& batch) {
  const auto owner = static_cast<Owner>(batch.owners.size());
  const std::size_t before = batch.elements.size();
  model_.walk(id, [&](const Record& record, std::string_view comment) { add_record(record, comment, owner, batch); });
  if (batch.elements.size() != before) batch.owners.push_back(id.first);
}

void Difference::add_record(const Record& record, std::string_view comment, Owner owner, Batch& batch) {
  RecordTable& there = listing_.records[index(record.set)];
  if (const auto place = there.find(record.key)) {
    if (there.is_marked(*place)) return;
    there.mark(*place);
    if (there.data(*place) == record.data &&
        (ignores_comment(record.set) || there.comment(*place) == comment_hash(comment)))
      return;
    batch.elements.push_back({record, true, owner, {}});
  } else if (is_shared(record.set) && !added_[record.set == SetId::kHairpin].insert(record.key).second) {
    return;
  }
  batch.elements.push_back({record, false, owner, std::string(comment)});
}

bool Difference::remove_elements(Batch& batch, std::size_t most) {
  for (; next_set_ < kSetCount; ++next_set_, next_place_ = 0) {
    const SetId set = kRemovalOrder[next_set_];
    const RecordTable& there = listing_.records[index(set)];
    for (; next_place_ < there.size(); ++next_place_) {
      if (there.is_marked(next_place_)) continue;
      if (most == 0) return true;
      --most;
      batch.elements.push_back({{set, there.key(next_place_), there.data(next_place_)}, true, 0, {}});
    }
  }
  return false;
}

std::vector<DispatchWrite> Difference::unknown_dispatch() const {
  std::set<std::pair<bool, std::uint32_t>> wanted;
  for (const SharedChain& chain : model_.chains()) wanted.emplace(chain.firewall, chain.number);
  std::vector<DispatchWrite> found;
  for (const DispatchWrite& one : listing_.dispatch) {
    if (wanted.contains({one.firewall, one.number})) continue;
    found.push_back({one.firewall, one.number, one.chain, true});
  }
  return found;
}

std::vector<std::string> Difference::unknown_chains() const {
  std::set<std::string, std::less<>> known;
  for (const ChainSpec& spec : fixed_chains(facts_.layout)) known.insert(spec.name);
  for (const SharedChain& chain : model_.chains()) known.insert(chain.name);
  std::vector<std::string> found;
  for (const auto& [name, chain] : listing_.chains) {
    if (!known.contains(name)) found.push_back(name);
  }
  return found;
}

}  // namespace sluice::nftables
