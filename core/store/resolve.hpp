// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One Service and its endpoints → its resolved service ports in one family. Pure; the
// only place that interprets traffic policies.
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
};

// Empty if the Service has nothing in this family. Sorted by key. Without the addresses that `claims`, which may be
// null, give to another Service. REQUIRES: `service` is the object that the claims borrow.
std::vector<ServicePort> resolve(const model::Service& service, base::Family family, const SliceCache& slices,
                                 const NodeView& node, const FrontendClaims* claims = nullptr);

// Why a list of a service port has an endpoint, or has not. A list is what new connections are balanced over.
enum class Use : std::uint8_t {
  not_asked,  // no frontend of the service port uses this list
  used,
  used_while_terminating,  // no endpoint is ready, and this one still serves
  not_ready,
  terminating,       // and does not serve any more
  others_are_ready,  // terminating and serving: of use only where no endpoint is ready
  hinted_to_other_zones,
  hinted_to_other_nodes,
  not_on_this_node,  // of the Local list alone
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

// What resolve() returns, with the reasons. It costs more: it is for people who ask for a Service.
std::vector<ExplainedPort> explain(const model::Service& service, base::Family family, const SliceCache& slices,
                                   const NodeView& node, const FrontendClaims* claims = nullptr);

}  // namespace sluice::store
