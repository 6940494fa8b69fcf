// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What one service port asks for: virtual servers, entries of sets, addresses (BEH 6.3–6.8). Pure.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "plugins/ipvs/servers/server_writer.hpp"
#include "plugins/ipvs/sets/set_spec.hpp"
#include "plugins/ipvs/settings.hpp"
#include "sluice/abi/node.hpp"
#include "sluice/abi/service.hpp"

namespace sluice::ipvs {

// Inputs of all plans: a change needs a full transaction.
struct PlanFacts {
  abi::Family family{};
  abi::Address node_ip{};
  std::vector<abi::Address> node_port_addresses;  // resolved from nodePortAddresses; sorted
  std::set<abi::Address> local_addresses;         // of links other than kube-ipvs0: never bound
  std::string scheduler;
  bool operator==(const PlanFacts&) const = default;
};
PlanFacts plan_facts(abi::Family family, const abi::NodeFacts& node, const Settings& settings);

struct ServicePlan {
  std::string name;                     // printed
  std::vector<WantedServer> servers;    // in the order of the frontends, each key once; node ports come last
  std::size_t node_ports = 0;           // how many of `servers` are of node ports
  std::vector<SetItem> items;           // sorted, without duplicates
  std::vector<abi::Address> addresses;  // to be bound; without duplicates
  std::vector<abi::Address> external;   // external and load balancer IPs among `addresses`; sorted
  std::vector<ServerKey> closed;        // for KUBE-IPVS-OUT-FILTER; sorted, without duplicates
  std::vector<std::string> problems;    // addresses that are not programmed, one sentence each
  // There are endpoints, but none on this node although the policy is Local.
  bool internal_without_local_endpoints = false;
  bool external_without_local_endpoints = false;
};

// Throws sdk::Failure (kInvalid) for a name that cannot be written into a rule or a file.
ServicePlan plan_service(const PlanFacts& facts, const abi::ServicePort& port);

}  // namespace sluice::ipvs
