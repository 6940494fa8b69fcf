// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One service port as the model keeps it, in little memory, and what elements it is. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/nftables/model/affinity.hpp"
#include "plugins/nftables/model/plan.hpp"

namespace sluice::nftables {

struct FrontendState {
  abi::Address address{};
  std::uint16_t port = 0;
  bool node_port : 1 = false;
  bool cluster_ip : 1 = false;
  bool treated : 1 = false;     // has a chain
  bool firewalled : 1 = false;
  bool owned : 1 = false;       // otherwise another service port has it, and it is no element
  FrontendPlan::Without without : 2 = FrontendPlan::Without::kServed;
  Treatment::Kind kind = Treatment::Kind::kCluster;
  std::uint32_t chain = 0;      // class numbers; only with an owner
  std::uint32_t firewall = 0;
};

struct AffinityState {
  std::uint32_t id = 0;
  AffinityTokens tokens;
};

struct ServiceState {
  std::string name;
  std::vector<FrontendState> frontends;
  std::vector<EndpointAddress> endpoints;  // the list for policy Cluster by slot, that for policy Local, hairpins
  std::uint32_t cluster = 0;               // lengths
  std::uint32_t local = 0;
  std::uint32_t affinity_seconds = 0;
  abi::Protocol protocol{};
  bool exists = false;
  std::unique_ptr<AffinityState> affinity;  // with affinity_seconds
  std::unique_ptr<std::vector<abi::Prefix>> allowed;

  FrontendKey key(const FrontendState& frontend) const {
    return {frontend.node_port, frontend.address, protocol, frontend.port};
  }
  Treatment treatment(const FrontendState& frontend) const;
  const EndpointAddress* cluster_list() const { return endpoints.data(); }
  const EndpointAddress* local_list() const { return endpoints.data() + cluster; }
  const EndpointAddress* hairpins() const { return endpoints.data() + cluster + local; }
  std::size_t hairpin_count() const { return endpoints.size() - cluster - local; }
};

// Calls sink(const Record&) for each element that is of this service port alone.
template <class Sink>
void own_elements(abi::Family family, bool counters, const ServiceState& state, Sink&& sink);

// Calls sink(const Record&) for each element that others may have too.
template <class Sink>
void shared_elements(abi::Family family, const ServiceState& state, Sink&& sink);

// Elements that say for people whose they are.
bool is_commented(SetId set);
// The name of a service port as nft can read it again: at most 128 characters.
std::string element_comment(const std::string& name);

inline Treatment ServiceState::treatment(const FrontendState& frontend) const {
  using Kind = Treatment::Kind;
  Treatment made;
  made.kind = frontend.kind;
  made.node_port = frontend.node_port;
  made.affinity_seconds = affinity_seconds;
  if (frontend.kind != Kind::kLocal) made.cluster = cluster;
  if (frontend.kind == Kind::kLocal || frontend.kind == Kind::kExternalLocal) made.local = local;
  return made;
}

template <class Sink>
void own_elements(abi::Family family, bool counters, const ServiceState& state, Sink&& sink) {
  bool any_cluster = false;
  bool any_local = false;
  for (const FrontendState& frontend : state.frontends) {
    if (!frontend.owned) continue;
    const bool node_port = frontend.node_port;
    const FrontendKey key = state.key(frontend);
    const Key bytes = frontend_key(family, key);
    if (frontend.treated) {
      sink(Record{node_port ? SetId::kServiceNodePorts : SetId::kServiceIps, bytes, number_data(frontend.chain)});
      const Treatment treatment = state.treatment(frontend);
      any_cluster = any_cluster || treatment.cluster != 0;
      any_local = any_local || treatment.local != 0;
      if (state.affinity) {
        sink(Record{node_port ? SetId::kAffinityNodePorts : SetId::kAffinityServices, bytes,
                    number_data(state.affinity->id)});
      } else {
        const SetId set = node_port ? SetId::kNodePortEndpoints : SetId::kEndpoints;
        const auto add_list = [&](const EndpointAddress* list, std::uint32_t length, std::uint32_t first) {
          for (std::uint32_t slot = 0; slot < length; ++slot) {
            Record record{set, bytes, endpoint_data(family, list[slot])};
            const std::uint32_t number = first + slot;
            record.key.append(&number, sizeof(number));
            sink(record);
          }
        };
        add_list(state.cluster_list(), treatment.cluster, kClusterSlots);
        add_list(state.local_list(), treatment.local, kLocalSlots);
      }
    }
    if (frontend.without == FrontendPlan::Without::kRejected) {
      sink(Record{node_port ? SetId::kNoEndpointNodePorts : SetId::kNoEndpointServices, bytes, {}});
    }
    if (frontend.without == FrontendPlan::Without::kDropped) {
      sink(Record{node_port ? SetId::kNoLocalNodePorts : SetId::kNoLocalServices, bytes, {}});
    }
    if (frontend.firewalled) sink(Record{SetId::kFirewallIps, bytes, number_data(frontend.firewall)});
    // Also of those that nobody serves at present: what was counted is not to be forgotten.
    if (counters) sink(Record{node_port ? SetId::kNodePortTraffic : SetId::kServiceTraffic, bytes, {}});
  }
  if (!state.affinity) return;
  const auto add_tokens = [&](const EndpointAddress* list, std::uint32_t length, std::uint32_t first, SetId endpoints) {
    for (std::uint32_t slot = 0; slot < length; ++slot) {
      const std::uint32_t token = state.affinity->id | state.affinity->tokens.number(list[slot]);
      sink(Record{SetId::kAffinitySlots, affinity_slot_key(state.affinity->id, first + slot), number_data(token)});
      sink(Record{endpoints, token_key(state.protocol, token), endpoint_data(family, list[slot])});
    }
  };
  if (any_cluster) add_tokens(state.cluster_list(), state.cluster, kClusterSlots, SetId::kAffinityEndpoints);
  if (any_local) add_tokens(state.local_list(), state.local, kLocalSlots, SetId::kAffinityLocalEndpoints);
}

template <class Sink>
void shared_elements(abi::Family family, const ServiceState& state, Sink&& sink) {
  for (const FrontendState& frontend : state.frontends) {
    if (frontend.cluster_ip) sink(Record{SetId::kClusterIps, address_key(family, frontend.address), {}});
  }
  for (std::size_t i = 0; i < state.hairpin_count(); ++i) {
    sink(Record{SetId::kHairpin, hairpin_key(family, state.hairpins()[i], state.protocol), {}});
  }
}

}  // namespace sluice::nftables
