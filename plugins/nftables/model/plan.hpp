// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Decides how the frontends and endpoints of a service port are served (BEH 3.3, 7.3). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/nftables/elements.hpp"
#include "plugins/nftables/layout/layout.hpp"
#include "sluice/abi/node.hpp"
#include "sluice/abi/service.hpp"

namespace sluice::nftables {

struct FrontendPlan {
  enum class Fallback : std::uint8_t { kServed, kRejected, kDropped };  // if no endpoint may take the packet
  FrontendKey key;
  std::optional<ServiceClass> service_class;  // with the lengths of the lists
  Fallback fallback = Fallback::kServed;      // policy Local may have both: some clients are served
  bool firewalled = false;
  bool cluster_ip = false;
};

struct ServicePlan {
  std::string name;  // printed: "ns/name:port"
  abi::Protocol protocol{};
  std::vector<FrontendPlan> frontends;  // the cluster IP first, without duplicates
  std::vector<EndpointAddress> cluster;  // sorted, without duplicates; only what some frontend uses
  std::vector<EndpointAddress> local;
  std::vector<EndpointAddress> hairpin;  // served endpoints on this node
  std::uint32_t affinity_seconds = 0;
  std::vector<abi::Prefix> allowed;      // clients of firewalled frontends; sorted, none inside of another
  std::vector<std::string> problems;     // sentences about the parts that are not programmed
};

// `node_ip`: NodeFacts::node_ip, for source ranges that contain it. Throws sdk::Failure if nothing of the port can be
// served.
ServicePlan plan_service(abi::Family family, const abi::Address& node_ip, const abi::ServicePort& port);

}  // namespace sluice::nftables
