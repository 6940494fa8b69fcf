// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/urgency.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace sluice::nftables {
namespace {

constexpr std::uint16_t kDomainPort = 53;
constexpr int kLeastUrgent = 2;

// "name" of "ns/name:port".
std::string_view service_name(std::string_view printed) {
  printed.remove_prefix(std::min(printed.size(), printed.find('/') + 1));
  return printed.substr(0, printed.find(':'));
}

}  // namespace

std::string_view service_of(std::string_view printed) { return printed.substr(0, printed.find(':')); }

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
  return api_server ? 1 : kLeastUrgent;
}

std::vector<PortId> Urgency::in_order(std::vector<PortId> ids) const {
  // A Service comes when the most urgent of its ports does.
  std::map<std::string, int> ranks;
  for (const PortId& id : ids) {
    if (const int own = rank(id); own < kLeastUrgent) {
      int& known = ranks.emplace(service_of(id.first), own).first->second;
      known = std::min(known, own);
    }
  }
  const auto with_rank = [&](int wanted) {
    return [&, wanted](const PortId& id) {
      const auto found = ranks.find(std::string(service_of(id.first)));
      return found != ranks.end() && found->second == wanted;
    };
  };
  const auto others = std::stable_partition(ids.begin(), ids.end(), with_rank(0));
  std::stable_partition(others, ids.end(), with_rank(1));
  return ids;
}

}  // namespace sluice::nftables
