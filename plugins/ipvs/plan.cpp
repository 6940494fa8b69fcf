// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/plan.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "lib/text.hpp"
#include "plugins/common/netfilter/rule_text.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::ipvs {
namespace {

// The scheduler that hashes the source address, and with kSchedulerPort its port.
constexpr std::string_view kHashingScheduler = "mh";
// The scheduler that hashes the source address only.
constexpr std::string_view kSourceScheduler = "sh";

bool is_ipv6_link_local(abi::Family family, const abi::Address& address) {
  return family == abi::Family::kIpv6 && address.bytes[0] == 0xFE && (address.bytes[1] & 0xC0) == 0x80;
}

// The kind of an address that no virtual server can have; empty for all others.
std::string_view unusable_kind(abi::Family family, const abi::Address& address) {
  const std::uint8_t first = address.bytes[0];
  if (sdk::is_unspecified(address)) return "the unspecified address";
  if (netfilter::is_loopback(family, address)) return "a loopback address";
  if (family == abi::Family::kIpv6) return first == 0xFF ? "a multicast address" : "";
  if ((first & 0xF0) == 0xE0) return "a multicast address";
  const bool broadcast = std::all_of(address.bytes, address.bytes + 4, [](std::uint8_t byte) { return byte == 0xFF; });
  return broadcast ? "the broadcast address" : "";
}

std::string_view name_of(abi::FrontendKind kind) {
  switch (kind) {
    case abi::FrontendKind::kClusterIp:
      return "cluster IP ";
    case abi::FrontendKind::kExternalIp:
      return "external IP ";
    default:
      return "load balancer IP ";
  }
}

std::uint8_t bits(abi::Family family) { return static_cast<std::uint8_t>(sdk::address_bytes(family) * 8); }

class ServicePlanner {
 public:
  ServicePlanner(const PlanFacts& facts, const abi::ServicePort& port) : facts_(facts), port_(port) {
    plan_.name = sdk::service_port_name(port.key);
  }

  ServicePlan make() {
    netfilter::check_key(port_.key, plan_.name, "its name is not a valid Kubernetes name");
    read_endpoints();
    for (const abi::Frontend& frontend : sdk::frontends(port_)) {
      const bool is_ip = frontend.kind != abi::FrontendKind::kNodePort && sdk::is_known(frontend.kind);
      if (is_ip && is_usable(frontend)) add_service_ip(frontend);
    }
    if (add_node_ports() && port_.health_check_node_port != 0) {
      add_port(SetId::kHealthCheckNodePort, port_.health_check_node_port);
    }
    for (const abi::Address& address : plan_.addresses) {
      SetEntry entry;
      entry.address = address;
      plan_.items.push_back({SetId::kIpvsAddresses, entry});
    }
    lib::sort_unique(plan_.items);
    lib::sort_unique(plan_.closed);
    std::sort(plan_.external.begin(), plan_.external.end());
    return std::move(plan_);
  }

 private:
  // Unusable addresses are rejected by a set, by IPVS or by the link.
  bool is_usable(const abi::Frontend& frontend) {
    const std::string_view kind = unusable_kind(facts_.family, frontend.address);
    if (kind.empty()) return true;
    plan_.problems.push_back(std::string(name_of(frontend.kind)) + sdk::to_string(frontend.address, facts_.family) +
                             " is " + std::string(kind) +
                             ", which cannot be served: it is not programmed; give the Service another one");
    return false;
  }

  // BEH 6.4, 6.6: policy Local uses the local endpoints, or if there are none, all of the cluster.
  void read_endpoints() {
    std::vector<RealServer> cluster, local;
    for (const abi::Endpoint& endpoint : sdk::endpoints(port_)) {
      const RealServer real{endpoint.address, endpoint.port};
      if (sdk::has(port_, abi::kUsesClusterEndpoints) && sdk::has(endpoint, abi::kEndpointInCluster)) {
        cluster.push_back(real);
      }
      if (sdk::has(port_, abi::kUsesLocalEndpoints) && sdk::has(endpoint, abi::kEndpointInLocal)) {
        local.push_back(real);
      }
      if (sdk::has(endpoint, abi::kEndpointOnThisNode)) add_hairpin(real);
    }
    lib::sort_unique(cluster);
    lib::sort_unique(local);
    const bool any = sdk::has(port_, abi::kHasAnyEndpoint) || !cluster.empty();
    none_local_ = local.empty() && any;
    plan_.internal_without_local_endpoints = none_local_ && sdk::has(port_, abi::kInternalPolicyLocal);
    cluster_ = std::make_shared<const std::vector<RealServer>>(std::move(cluster));
    local_ = local.empty() ? cluster_ : std::make_shared<const std::vector<RealServer>>(std::move(local));
  }

  void add_hairpin(const RealServer& real) {
    SetEntry entry = front_entry(real.address, real.port);
    entry.other = real.address;
    entry.other_length = bits(facts_.family);
    plan_.items.push_back({SetId::kLoopBack, entry});
  }

  const RealServers& real_servers(const abi::Frontend& frontend) const {
    const bool local = frontend.kind == abi::FrontendKind::kClusterIp ? sdk::has(port_, abi::kInternalPolicyLocal)
                                                                      : sdk::has(port_, abi::kExternalPolicyLocal);
    return local ? local_ : cluster_;
  }

  SetEntry front_entry(const abi::Address& address, std::uint16_t port) const {
    SetEntry entry;
    entry.address = address;
    entry.port = port;
    entry.protocol = port_.key.protocol;
    return entry;
  }

  void add_port(SetId set, std::uint16_t port) {
    SetEntry entry;
    entry.port = port;
    plan_.items.push_back({set, entry});
  }

  void add_server(const abi::Frontend& frontend, const abi::Address& address) {
    const ServerKey key{address, frontend.port, port_.key.protocol};
    // An external IP may also be a load balancer IP.
    const auto same = [&](const WantedServer& other) { return other.server.key == key; };
    if (std::any_of(plan_.servers.begin(), plan_.servers.end(), same)) return;
    WantedServer wanted;
    wanted.server.key = key;
    wanted.server.scheduler = facts_.scheduler;
    if (sdk::has(port_, abi::kSessionAffinity)) {
      wanted.server.flags |= kPersistent;
      wanted.server.persistence_seconds = port_.affinity_seconds;
    }
    if (facts_.scheduler == kHashingScheduler) wanted.server.flags |= kSchedulerPort;
    if (facts_.scheduler == kSourceScheduler) wanted.server.flags |= kSchedulerFallback;
    wanted.real = real_servers(frontend);
    wanted.owner = plan_.name;
    plan_.servers.push_back(std::move(wanted));
    if (frontend.kind == abi::FrontendKind::kNodePort) ++plan_.node_ports;
    if (frontend.kind != abi::FrontendKind::kClusterIp) {
      plan_.external_without_local_endpoints = none_local_ && sdk::has(port_, abi::kExternalPolicyLocal);
    }
  }

  void add_service_ip(const abi::Frontend& frontend) {
    add_server(frontend, frontend.address);
    const bool cluster_ip = frontend.kind == abi::FrontendKind::kClusterIp;
    if ((cluster_ip || !facts_.local_addresses.contains(frontend.address)) &&
        !lib::contains(plan_.addresses, frontend.address)) {
      plan_.addresses.push_back(frontend.address);
      if (!cluster_ip) plan_.external.push_back(frontend.address);
    }
    const SetEntry entry = front_entry(frontend.address, frontend.port);
    const bool local = sdk::has(port_, abi::kExternalPolicyLocal);
    if (cluster_ip) {
      plan_.items.push_back({SetId::kClusterIp, entry});
    } else if (frontend.kind == abi::FrontendKind::kExternalIp) {
      plan_.items.push_back({local ? SetId::kExternalIpLocal : SetId::kExternalIp, entry});
    } else {
      plan_.items.push_back({SetId::kLoadBalancer, entry});
      if (local) plan_.items.push_back({SetId::kLoadBalancerLocal, entry});
      if (!sdk::source_ranges(port_).empty()) add_source_ranges(entry);
    }
  }

  void add_source_ranges(const SetEntry& entry) {
    plan_.items.push_back({SetId::kLoadBalancerFirewall, entry});
    bool node_may = false;
    for (const abi::Prefix& range : sdk::source_ranges(port_)) {
      node_may = node_may || netfilter::contains(range, facts_.node_ip);
      add_source_range(entry, range);
    }
    if (!node_may) {
      plan_.closed.push_back({entry.address, entry.port, entry.protocol});
      return;
    }
    // The source of what the node itself sends to this address is that address.
    SetEntry itself = entry;
    itself.other = entry.address;
    itself.other_length = bits(facts_.family);
    plan_.items.push_back({SetId::kLoadBalancerSourceIp, itself});
  }

  void add_source_range(SetEntry entry, const abi::Prefix& range) {
    entry.other = range.address;
    entry.other_length = range.length;
    if (range.length != 0) {
      plan_.items.push_back({SetId::kLoadBalancerSourceCidr, entry});
      return;
    }
    // Sets of this type cannot hold a network of length 0: add both halves, as the ipset program does.
    entry.other = abi::Address{};
    entry.other_length = 1;
    plan_.items.push_back({SetId::kLoadBalancerSourceCidr, entry});
    entry.other.bytes[0] = 0x80;
    plan_.items.push_back({SetId::kLoadBalancerSourceCidr, entry});
  }

  // False: the service port has a node port but no address for it, so the rest is omitted (BEH 6.3).
  bool add_node_ports() {
    for (const abi::Frontend& frontend : sdk::frontends(port_)) {
      if (frontend.kind != abi::FrontendKind::kNodePort) continue;
      if (facts_.node_port_addresses.empty()) return false;
      for (const abi::Address& address : facts_.node_port_addresses) add_server(frontend, address);
      add_node_port_entries(frontend.port);
    }
    return true;
  }

  void add_node_port_entries(std::uint16_t port) {
    struct Sets {
      abi::Protocol protocol;
      SetId every, local;
    };
    constexpr std::array kSetsOf{
        Sets{abi::Protocol::kTcp, SetId::kNodePortTcp, SetId::kNodePortLocalTcp},
        Sets{abi::Protocol::kUdp, SetId::kNodePortUdp, SetId::kNodePortLocalUdp},
        Sets{abi::Protocol::kSctp, SetId::kNodePortSctp, SetId::kNodePortLocalSctp},
    };
    const bool policy_local = sdk::has(port_, abi::kExternalPolicyLocal);
    for (const Sets& sets : kSetsOf) {
      if (sets.protocol != port_.key.protocol) continue;
      if (sets.protocol != abi::Protocol::kSctp) {
        add_port(sets.every, port);
        if (policy_local) add_port(sets.local, port);
        continue;
      }
      for (const abi::Address& address : facts_.node_port_addresses) {
        plan_.items.push_back({sets.every, front_entry(address, port)});
        if (policy_local) plan_.items.push_back({sets.local, front_entry(address, port)});
      }
    }
  }

  const PlanFacts& facts_;
  const abi::ServicePort& port_;
  ServicePlan plan_;
  RealServers cluster_, local_;
  bool none_local_ = false;  // there are endpoints, on other nodes only
};

}  // namespace

PlanFacts plan_facts(abi::Family family, const abi::NodeFacts& node, const Settings& settings) {
  PlanFacts facts;
  facts.family = family;
  facts.node_ip = node.node_ip;
  facts.scheduler = settings.scheduler;
  // Link-local addresses come and go with pods; no plan depends on them.
  for (const abi::Address& address : sdk::range<abi::Address>(node.local_addresses)) {
    if (netfilter::is_loopback(family, address) || is_ipv6_link_local(family, address)) continue;
    facts.local_addresses.insert(address);
  }
  if ((node.flags & abi::kNodePortsMatchAll) != 0) {
    facts.node_port_addresses.assign(facts.local_addresses.begin(), facts.local_addresses.end());
    return facts;
  }
  for (const abi::Address& address : sdk::range<abi::Address>(node.node_port_addresses)) {
    if (!netfilter::is_loopback(family, address)) facts.node_port_addresses.push_back(address);
  }
  lib::sort_unique(facts.node_port_addresses);
  return facts;
}

ServicePlan plan_service(const PlanFacts& facts, const abi::ServicePort& port) {
  return ServicePlanner(facts, port).make();
}

}  // namespace sluice::ipvs
