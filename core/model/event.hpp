// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a source of objects (API server, manifests) tells the store. A source first
// lists: list_begin, upserts, list_end; then single changes follow. A later list of
// the same kind (after a gap in the watch) is told the same way, and whatever it did
// not mention is gone.
#pragma once

#include <string>
#include <variant>

#include "core/model/endpoint_slice.hpp"
#include "core/model/node.hpp"
#include "core/model/service.hpp"

namespace sluice::model {

enum class ResourceKind : std::uint8_t { service, endpoint_slice, node };
inline constexpr std::array<ResourceKind, 3> kResourceKinds{ResourceKind::service, ResourceKind::endpoint_slice,
                                                            ResourceKind::node};
std::string_view resource_kind_name(ResourceKind kind);  // "Service", "EndpointSlice", "Node"

struct ListBegin {
  ResourceKind kind;
};
struct ListEnd {
  ResourceKind kind;
};
struct Upsert {
  std::variant<Service, EndpointSlice, Node> object;
};
struct Remove {
  ResourceKind kind;
  ObjectName name;
};
// The object exists but could not be used: what was known of it before stays in force.
struct Unusable {
  ResourceKind kind;
  ObjectName name;
};

using Event = std::variant<ListBegin, ListEnd, Upsert, Remove, Unusable>;

class EventSink {
 public:
  virtual ~EventSink() = default;
  // Any thread; may block for a while when the store is behind.
  virtual void deliver(Event event) = 0;
};

}  // namespace sluice::model
