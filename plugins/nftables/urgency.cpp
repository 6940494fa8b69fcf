// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/urgency.hpp"

#include <algorithm>
#include <string_view>

namespace sluice::nftables {
namespace {

constexpr std::uint16_t kDomainPort = 53;

// "name" of "ns/name:port".
std::string_view service_name(std::string_view printed) {
  printed.remove_prefix(std::min(printed.size(), printed.find('/') + 1));
  return printed.substr(0, printed.find(':'));
}

}  // namespace

void Urgency::put(const PortId& id, const ServicePlan& plan) {
  const bool resolver = std::any_of(plan.frontends.begin(), plan.frontends.end(), [](const FrontendPlan& frontend) {
    return frontend.key.port == kDomainPort && !frontend.key.node_port;
  });
  if (resolver) {
    resolvers_.insert(id);
  } else {
    resolvers_.erase(id);
  }
}

int Urgency::rank(const PortId& id) const {
  const std::string_view name = service_name(id.first);
  if (resolvers_.contains(id) || name == "kube-dns" || name == "coredns") return 0;
  const bool api_server = id.first == "default/kubernetes" || id.first.starts_with("default/kubernetes:");
  return api_server ? 1 : 2;
}

std::vector<PortId> Urgency::in_order(std::vector<PortId> ids) const {
  const auto with_rank = [this](int wanted) { return [this, wanted](const PortId& id) { return rank(id) == wanted; }; };
  const auto others = std::stable_partition(ids.begin(), ids.end(), with_rank(0));
  std::stable_partition(others, ids.end(), with_rank(1));
  return ids;
}

}  // namespace sluice::nftables
