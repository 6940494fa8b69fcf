// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Resolves a Service and its endpoints into service ports of one family. The only place that interprets traffic
// policies.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/store/frontend_claims.hpp"
#include "core/store/service_port.hpp"
#include "core/store/slice_cache.hpp"

namespace sluice::store {

struct NodeView {
  std::string_view name;
  std::string_view zone;
  bool external_ips = true;  // false: spec.externalIPs are not served (BEH 1.2)
  model::DetailsRequest details{};  // which details service ports have
};

// Sorted by key; empty if the Service has no service ports in this family. Excludes addresses that `claims` (may be
// null) assign to another Service. REQUIRES: `service` is the object that `claims` points to.
std::vector<ServicePort> resolve(const model::Service& service, lib::Family family, const SliceCache& slices,
                                 const NodeView& node, const FrontendClaims* claims = nullptr);

// Why an endpoint is in a list of a service port, or is not. New connections are balanced over such a list.
enum class Use : std::uint8_t {
  not_asked,  // no frontend of the service port uses this list
  used,
  used_while_terminating,  // no endpoint is ready, and this one still serves
  not_ready,
  terminating,       // and no longer serving
  others_are_ready,  // terminating and serving: used only if no endpoint is ready
  hinted_to_other_zones,
  hinted_to_other_nodes,
  not_on_this_node,  // Local list only
};

struct ExplainedEndpoint {
  Endpoint endpoint;
  base::Symbol node;        // empty: not known
  base::Symbol zone_hints;  // model::pack_names()
  base::Symbol node_hints;
  Use cluster = Use::not_asked;
  Use local = Use::not_asked;
};

// A resolved service port, and all of its endpoints in the slices, sorted as ServicePort::endpoints.
struct ExplainedPort {
  ServicePort port;
  std::vector<ExplainedEndpoint> endpoints;
};

// Like resolve(), with the reasons. More expensive; for queries of a single Service.
std::vector<ExplainedPort> explain(const model::Service& service, lib::Family family, const SliceCache& slices,
                                   const NodeView& node, const FrontendClaims* claims = nullptr);

}  // namespace sluice::store
