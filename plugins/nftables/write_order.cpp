// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/write_order.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace sluice::nftables {
namespace {

constexpr std::uint16_t kDomainPort = 53;
constexpr int kLastRank = 2;

// "name" of "ns/name:port".
std::string_view service_name(std::string_view printed) {
  printed.remove_prefix(std::min(printed.size(), printed.find('/') + 1));
  return printed.substr(0, printed.find(':'));
}

}  // namespace

std::string_view service_of(std::string_view printed) { return printed.substr(0, printed.find(':')); }

void WriteOrder::put(const PortId& id, const ServicePlan& plan) {
  const bool is_dns = std::any_of(plan.frontends.begin(), plan.frontends.end(), [](const FrontendPlan& frontend) {
    return frontend.key.port == kDomainPort && !frontend.key.node_port;
  });
  if (is_dns) {
    dns_ports_.insert(id);
  } else {
    dns_ports_.erase(id);
  }
}

int WriteOrder::rank(const PortId& id) const {
  const std::string_view name = service_name(id.first);
  if (dns_ports_.contains(id) || name == "kube-dns" || name == "coredns") return 0;
  const bool api_server = id.first == "default/kubernetes" || id.first.starts_with("default/kubernetes:");
  return api_server ? 1 : kLastRank;
}

std::vector<PortId> WriteOrder::in_order(std::vector<PortId> ids) const {
  // The lowest rank of its ports applies to the Service.
  std::map<std::string, int> ranks;
  for (const PortId& id : ids) {
    if (const int own = rank(id); own < kLastRank) {
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
  const auto rest = std::stable_partition(ids.begin(), ids.end(), with_rank(0));
  std::stable_partition(rest, ids.end(), with_rank(1));
  return ids;
}

}  // namespace sluice::nftables
