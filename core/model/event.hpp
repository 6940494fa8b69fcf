// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Events that a source of objects (API server, manifests) sends to the store. A source first lists each kind
// (ListBegin, upserts, ListEnd), then sends changes. A later list of the same kind (after a gap in the watch) has the
// same form; objects that it does not contain are removed.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/model/details.hpp"
#include "core/model/endpoint_slice.hpp"
#include "core/model/node.hpp"
#include "core/model/service.hpp"
#include "core/model/service_cidr.hpp"
#include "lib/ip.hpp"

namespace sluice::model {

enum class ResourceKind : std::uint8_t { service, endpoint_slice, node, service_cidr };
inline constexpr std::array<ResourceKind, 4> kResourceKinds{ResourceKind::service, ResourceKind::endpoint_slice,
                                                            ResourceKind::node, ResourceKind::service_cidr};
std::string_view resource_kind_name(ResourceKind kind);  // "Service", "EndpointSlice", "Node", "ServiceCIDR"
std::string_view resource_api_version(ResourceKind kind);  // "v1", "discovery.k8s.io/v1"
// Whether objects of this kind have no namespace.
constexpr bool cluster_wide(ResourceKind kind) {
  return kind == ResourceKind::node || kind == ResourceKind::service_cidr;
}
// Whether a source may lack this kind; the initial sync does not wait for its list.
constexpr bool optional_kind(ResourceKind kind) { return kind == ResourceKind::service_cidr; }

struct ListBegin {
  ResourceKind kind;
};
struct ListEnd {
  ResourceKind kind;
  WantedDetailsPtr details = nullptr;  // what the objects of the list were decoded with
};
struct Upsert {
  std::variant<Service, EndpointSlice, Node, ServiceCidr> object;
};
struct Remove {
  ResourceKind kind;
  ObjectName name;
};
// The object exists but is invalid: its last valid state is kept.
struct Unusable {
  ResourceKind kind;
  ObjectName name;
};

using Event = std::variant<ListBegin, ListEnd, Upsert, Remove, Unusable>;

class EventSink {
 public:
  virtual ~EventSink() = default;
  // [any thread] May block while the store is behind.
  virtual void deliver(Event event) = 0;
  // [any thread] Sets the addresses of the source's server, sorted. Called before objects of that server are delivered.
  virtual void server_at(std::vector<lib::SocketAddress> /*addresses*/) {}
};

}  // namespace sluice::model
