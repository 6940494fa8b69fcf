// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A service port as the model stores it, compactly, and its elements. Pure.
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
  bool has_chain : 1 = false;
  bool firewalled : 1 = false;
  bool owned : 1 = false;  // false: another service port has it, and it has no elements
  FrontendPlan::Fallback fallback : 2 = FrontendPlan::Fallback::kServed;
  ServiceClass::Kind kind = ServiceClass::Kind::kCluster;
  std::uint32_t chain = 0;  // class numbers; valid if owned
  std::uint32_t firewall = 0;
};

struct AffinityState {
  std::uint32_t id = 0;
  AffinityTokens tokens;
};

struct ServiceState {
  std::string name;
  std::vector<FrontendState> frontends;
  std::vector<EndpointAddress>
      endpoints;  // by slot: the list for policy Cluster, then the one for policy Local, then hairpins
  std::uint32_t cluster = 0;               // lengths
  std::uint32_t local = 0;
  std::uint32_t affinity_seconds = 0;
  abi::Protocol protocol{};
  bool exists = false;
  std::unique_ptr<AffinityState> affinity;  // only with affinity_seconds
  std::unique_ptr<std::vector<abi::Prefix>> allowed;

  FrontendKey key(const FrontendState& frontend) const {
    return {frontend.node_port, frontend.address, protocol, frontend.port};
  }
  ServiceClass service_class(const FrontendState& frontend) const;
  const EndpointAddress* cluster_list() const { return endpoints.data(); }
  const EndpointAddress* local_list() const { return endpoints.data() + cluster; }
  const EndpointAddress* hairpins() const { return endpoints.data() + cluster + local; }
  std::size_t hairpin_count() const { return endpoints.size() - cluster - local; }
};

// Calls sink(const Record&) for each element that belongs to this service port alone.
template <class Sink>
void own_elements(abi::Family family, bool counters, const ServiceState& state, Sink&& sink);

// Calls sink(const Record&) for each element that other service ports may share.
template <class Sink>
void shared_elements(abi::Family family, const ServiceState& state, Sink&& sink);

// Whether elements of the set have the name of their service port as a comment.
bool is_commented(SetId set);
// The name of a service port, cut to the 128 characters that nft accepts.
std::string element_comment(const std::string& name);

inline ServiceClass ServiceState::service_class(const FrontendState& frontend) const {
  using Kind = ServiceClass::Kind;
  ServiceClass made;
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
    if (frontend.has_chain) {
      sink(Record{node_port ? SetId::kServiceNodePorts : SetId::kServiceIps, bytes, number_data(frontend.chain)});
      const ServiceClass service_class = state.service_class(frontend);
      any_cluster = any_cluster || service_class.cluster != 0;
      any_local = any_local || service_class.local != 0;
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
        add_list(state.cluster_list(), service_class.cluster, kClusterSlots);
        add_list(state.local_list(), service_class.local, kLocalSlots);
      }
    }
    if (frontend.fallback == FrontendPlan::Fallback::kRejected) {
      sink(Record{node_port ? SetId::kNoEndpointNodePorts : SetId::kNoEndpointServices, bytes, {}});
    }
    if (frontend.fallback == FrontendPlan::Fallback::kDropped) {
      sink(Record{node_port ? SetId::kNoLocalNodePorts : SetId::kNoLocalServices, bytes, {}});
    }
    if (frontend.firewalled) sink(Record{SetId::kFirewallIps, bytes, number_data(frontend.firewall)});
    // Also for frontends that are not served at present, to keep their counters.
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
