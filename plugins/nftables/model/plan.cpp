// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/model/plan.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "lib/text.hpp"
#include "plugins/common/netfilter/rule_text.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::nftables {
namespace {

// Limit of the slots of a list, and of the tokens of a service port.
constexpr std::size_t kMaxEndpoints = 65535;

bool contains(const std::vector<EndpointAddress>& sorted, const EndpointAddress& endpoint) {
  return std::binary_search(sorted.begin(), sorted.end(), endpoint);
}

// Sorted and without ranges inside of another: equal lists share one chain, and interval sets must not overlap.
void sort_ranges(std::vector<abi::Prefix>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const abi::Prefix& a, const abi::Prefix& b) {
    return a.address != b.address ? a.address < b.address : a.length < b.length;
  });
  std::vector<abi::Prefix> kept;
  for (const abi::Prefix& range : ranges) {
    if (kept.empty() || !netfilter::contains(kept.back(), range.address)) kept.push_back(range);
  }
  ranges = std::move(kept);
}

class ServicePlanner {
 public:
  ServicePlanner(abi::Family family, const abi::Address& node_ip, const abi::ServicePort& port)
      : family_(family), node_ip_(node_ip), port_(port) {
    plan_.name = sdk::service_port_name(port.key);
    plan_.protocol = port.key.protocol;
  }

  ServicePlan make() {
    // Names appear in comments, which nft cannot read back with quotes and the like. Addresses are not checked:
    // nf_tables and kube-proxy accept any, and an invalid one harms no other Service.
    netfilter::check_key(port_.key, plan_.name, "its name is no Kubernetes name and cannot be written down");
    if (sdk::has(port_, abi::kSessionAffinity)) plan_.affinity_seconds = port_.affinity_seconds;
    read_endpoints();
    read_source_ranges();
    for (const abi::Frontend& frontend : sdk::frontends(port_)) add(frontend);
    if (!uses_cluster_) plan_.cluster.clear();
    if (!uses_local_) plan_.local.clear();
    return std::move(plan_);
  }

 private:
  void read_endpoints() {
    std::vector<EndpointAddress> here;
    for (const abi::Endpoint& endpoint : sdk::endpoints(port_)) {
      const EndpointAddress address{endpoint.address, endpoint.port};
      if (sdk::has(port_, abi::kUsesClusterEndpoints) && sdk::has(endpoint, abi::kEndpointInCluster)) {
        plan_.cluster.push_back(address);
      }
      if (sdk::has(port_, abi::kUsesLocalEndpoints) && sdk::has(endpoint, abi::kEndpointInLocal)) {
        plan_.local.push_back(address);
      }
      if (sdk::has(endpoint, abi::kEndpointOnThisNode)) here.push_back(address);
    }
    lib::sort_unique(plan_.cluster);
    lib::sort_unique(plan_.local);
    lib::sort_unique(here);
    limit_endpoints();
    for (const EndpointAddress& address : here) {
      if (contains(plan_.cluster, address) || contains(plan_.local, address)) plan_.hairpin.push_back(address);
    }
    has_any_ = sdk::has(port_, abi::kHasAnyEndpoint) || !plan_.cluster.empty() || !plan_.local.empty();
  }

  // Serves the remaining endpoints; local ones are preferred.
  void limit_endpoints() {
    std::vector<EndpointAddress> all;
    std::set_union(plan_.cluster.begin(), plan_.cluster.end(), plan_.local.begin(), plan_.local.end(),
                   std::back_inserter(all));
    if (all.size() <= kMaxEndpoints) return;
    plan_.problems.push_back("it has " + std::to_string(all.size()) + " endpoints and " +
                             std::to_string(kMaxEndpoints) +
                             " can be served: the others get no connections; divide them among several Services");
    if (plan_.local.size() > kMaxEndpoints) plan_.local.resize(kMaxEndpoints);
    std::size_t room = kMaxEndpoints - plan_.local.size();
    std::erase_if(plan_.cluster, [&](const EndpointAddress& endpoint) {
      if (contains(plan_.local, endpoint)) return false;
      if (room == 0) return true;
      --room;
      return false;
    });
  }

  // BEH 1.2, 7.3: a range of all addresses is no restriction. If the node is allowed, its own connections to a load
  // balancer address may have that address as their source.
  void read_source_ranges() {
    bool node_may = false;
    for (const abi::Prefix& range : sdk::source_ranges(port_)) {
      if (range.length == 0) {
        plan_.allowed.clear();
        return;
      }
      node_may = node_may || netfilter::contains(range, node_ip_);
      plan_.allowed.push_back(range);
    }
    for (const abi::Frontend& frontend : sdk::frontends(port_)) {
      if (frontend.kind != abi::FrontendKind::kLoadBalancer) continue;
      restricted_ = !plan_.allowed.empty();
      abi::Prefix itself{};
      itself.address = frontend.address;
      itself.length = static_cast<std::uint8_t>(sdk::address_bytes(family_) * 8);
      if (node_may) own_.push_back(itself);
    }
    if (!restricted_) {
      plan_.allowed.clear();
      return;
    }
    plan_.allowed.insert(plan_.allowed.end(), own_.begin(), own_.end());
    sort_ranges(plan_.allowed);
  }

  void add(const abi::Frontend& frontend) {
    if (!sdk::is_known(frontend.kind)) return;
    FrontendPlan planned;
    planned.key.node_port = frontend.kind == abi::FrontendKind::kNodePort;
    if (!planned.key.node_port) planned.key.address = frontend.address;
    planned.key.protocol = port_.key.protocol;
    planned.key.port = frontend.port;
    planned.cluster_ip = frontend.kind == abi::FrontendKind::kClusterIp;
    planned.firewalled = restricted_ && frontend.kind == abi::FrontendKind::kLoadBalancer;
    // An external IP may equal an address of the load balancer.
    for (FrontendPlan& other : plan_.frontends) {
      if (frontend_key(family_, other.key) != frontend_key(family_, planned.key)) continue;
      other.firewalled = other.firewalled || planned.firewalled;
      return;
    }
    decide(planned);
    plan_.frontends.push_back(planned);
  }

  // BEH 3.3.
  void decide(FrontendPlan& planned) {
    using Kind = ServiceClass::Kind;
    using Fallback = FrontendPlan::Fallback;
    const bool policy_local =
        sdk::has(port_, planned.cluster_ip ? abi::kInternalPolicyLocal : abi::kExternalPolicyLocal);
    const std::size_t served = policy_local ? plan_.local.size() : plan_.cluster.size();
    if (served == 0) planned.fallback = policy_local && has_any_ ? Fallback::kDropped : Fallback::kRejected;
    const bool short_circuit = policy_local && !planned.cluster_ip && !plan_.cluster.empty();
    if (served == 0 && !short_circuit) return;
    ServiceClass service_class;
    service_class.node_port = planned.key.node_port;
    service_class.affinity_seconds = plan_.affinity_seconds;
    if (policy_local) {
      service_class.kind = planned.cluster_ip ? Kind::kLocal : Kind::kExternalLocal;
      service_class.local = static_cast<std::uint32_t>(plan_.local.size());
    } else {
      service_class.kind = planned.cluster_ip ? Kind::kCluster : Kind::kExternal;
    }
    if (!policy_local || short_circuit) service_class.cluster = static_cast<std::uint32_t>(plan_.cluster.size());
    uses_cluster_ = uses_cluster_ || service_class.cluster != 0;
    uses_local_ = uses_local_ || service_class.local != 0;
    planned.service_class = service_class;
  }

  abi::Family family_;
  const abi::Address& node_ip_;
  const abi::ServicePort& port_;
  ServicePlan plan_;
  std::vector<abi::Prefix> own_;  // addresses of the load balancer
  bool restricted_ = false;
  bool has_any_ = false;
  bool uses_cluster_ = false;
  bool uses_local_ = false;
};

}  // namespace

ServicePlan plan_service(abi::Family family, const abi::Address& node_ip, const abi::ServicePort& port) {
  return ServicePlanner(family, node_ip, port).make();
}

}  // namespace sluice::nftables
