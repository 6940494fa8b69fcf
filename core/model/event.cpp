// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/model/event.hpp"

namespace sluice::model {

std::string_view resource_kind_name(ResourceKind kind) {
  switch (kind) {
    case ResourceKind::service: return "Service";
    case ResourceKind::endpoint_slice: return "EndpointSlice";
    case ResourceKind::node: return "Node";
    case ResourceKind::service_cidr: return "ServiceCIDR";
  }
  return "object";
}

std::string_view resource_api_version(ResourceKind kind) {
  switch (kind) {
    case ResourceKind::endpoint_slice: return "discovery.k8s.io/v1";
    case ResourceKind::service_cidr: return "networking.k8s.io/v1";
    case ResourceKind::service:
    case ResourceKind::node: break;
  }
  return "v1";
}

}  // namespace sluice::model
