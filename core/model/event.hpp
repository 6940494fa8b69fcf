// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a source of objects (API server, manifests) tells the store. A source first
// lists: list_begin, upserts, list_end; then single changes follow. A later list of
// the same kind (after a gap in the watch) is told the same way, and whatever it did
// not mention is gone.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/base/ip.hpp"
#include "core/model/endpoint_slice.hpp"
#include "core/model/node.hpp"
#include "core/model/service.hpp"
#include "core/model/service_cidr.hpp"

namespace sluice::model {

enum class ResourceKind : std::uint8_t { service, endpoint_slice, node, service_cidr };
inline constexpr std::array<ResourceKind, 4> kResourceKinds{ResourceKind::service, ResourceKind::endpoint_slice,
                                                            ResourceKind::node, ResourceKind::service_cidr};
std::string_view resource_kind_name(ResourceKind kind);  // "Service", "EndpointSlice", "Node", "ServiceCIDR"
std::string_view resource_api_version(ResourceKind kind);  // "v1", "discovery.k8s.io/v1"
// Its objects belong to no namespace.
constexpr bool cluster_wide(ResourceKind kind) {
  return kind == ResourceKind::node || kind == ResourceKind::service_cidr;
}
// A source may have no list of it, and nothing waits for one.
constexpr bool optional_kind(ResourceKind kind) { return kind == ResourceKind::service_cidr; }

struct ListBegin {
  ResourceKind kind;
};
struct ListEnd {
  ResourceKind kind;
};
struct Upsert {
  std::variant<Service, EndpointSlice, Node, ServiceCidr> object;
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
  // The addresses of the source's server from now on, sorted. Called before objects from there are delivered. Any
  // thread.
  virtual void server_at(std::vector<base::SocketAddress> /*addresses*/) {}
};

}  // namespace sluice::model
