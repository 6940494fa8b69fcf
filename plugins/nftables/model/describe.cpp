// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/model/describe.hpp"

#include <algorithm>

#include "lib/text.hpp"
#include "plugins/common/inspection/service_line.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::nftables {
namespace {

// Sorted by address: slots mean nothing to users.
std::string list_text(abi::Family family, const EndpointAddress* list, std::uint32_t length) {
  std::vector<EndpointAddress> sorted(list, list + length);
  std::sort(sorted.begin(), sorted.end());
  return lib::joined(sorted, ", ", [&](const EndpointAddress& endpoint) { return to_string(family, endpoint); });
}

std::string refusal_text(FrontendPlan::Fallback fallback) {
  return fallback == FrontendPlan::Fallback::kDropped ? "dropped, as no endpoint is on this node"
                                                      : "rejected, as there are no endpoints";
}

std::string served_text(abi::Family family, const ServiceState& state, const FrontendState& frontend) {
  using Kind = ServiceClass::Kind;
  const ServiceClass service_class = state.service_class(frontend);
  const std::string cluster = list_text(family, state.cluster_list(), service_class.cluster);
  const std::string local = list_text(family, state.local_list(), service_class.local);
  switch (frontend.kind) {
    case Kind::kCluster: return "-> " + cluster;
    case Kind::kExternal: return "-> " + cluster + " (masqueraded)";
    case Kind::kLocal: return "-> " + local + " (policy Local)";
    case Kind::kExternalLocal: break;
  }
  std::string text = service_class.local != 0 ? "-> " + local + " (policy Local)" : refusal_text(frontend.fallback);
  if (service_class.cluster != 0 && cluster != local) text += "; from this node and its pods -> " + cluster;
  return text;
}

std::string frontend_text(abi::Family family, const ServiceState& state, const FrontendState& frontend) {
  std::string text = frontend.has_chain ? served_text(family, state, frontend) : refusal_text(frontend.fallback);
  if (frontend.has_chain && state.affinity_seconds != 0) {
    text += "; clients keep their endpoint for " + std::to_string(state.affinity_seconds) + " s";
  }
  if (frontend.firewalled && state.allowed) {
    text += "; only for clients in " + inspection::ranges_text(*state.allowed, family);
  }
  return text;
}

}  // namespace

void describe_service(abi::Family family, const ServiceState& state,
                      const std::function<std::string(const FrontendState&)>& owner_of,
                      const std::function<void(const std::string&)>& line) {
  for (const FrontendState& frontend : state.frontends) {
    const std::string text =
        frontend.owned ? frontend_text(family, state, frontend) : "not served here: " + owner_of(frontend) + " has it";
    line(state.name + " " + to_string(family, state.key(frontend)) + " " + text);
  }
}

}  // namespace sluice::nftables
