// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/model/event.hpp"

namespace sluice::model {

std::string_view resource_kind_name(ResourceKind kind) {
  switch (kind) {
    case ResourceKind::service: return "Service";
    case ResourceKind::endpoint_slice: return "EndpointSlice";
    case ResourceKind::node: return "Node";
  }
  return "object";
}

}  // namespace sluice::model
