// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The resources to list and watch (BEH 1.1), and the requests for them (BEH 1.5).
#pragma once

#include <string>

#include "core/kube/http/transport.hpp"
#include "core/model/event.hpp"

namespace sluice::kube {

struct Resource {
  model::ResourceKind kind;
  std::string plural;       // "services"
  std::string object_kind;  // "Service"
  std::string path;
  std::string older_path;  // of an older API version, used if the server does not know `path`
  std::string label_selector;
  std::string field_selector;
  bool field_selector_optional = false;  // old servers do not support it
  // The path to discover whether a server offers EndpointSlices; empty for resources of every server.
  std::string discovery_path;
  bool endpoints = false;  // core/v1 Endpoints in place of EndpointSlices
  // The server need not offer the resource or allow access. `without`: what that means for traffic; `rule`: the RBAC
  // rule that allows access.
  bool optional = false;
  std::string without;
  std::string rule;
};

Resource services_resource();
Resource endpoint_slices_resource();
Resource endpoints_resource();
Resource node_resource(const std::string& node_name);
Resource service_cidrs_resource();

// A page of a list. An empty version requests the newest state.
struct ListPlace {
  std::string version;
  std::string continue_token;
  bool paged = true;
};
Request list_request(const Resource& resource, const ListPlace& place);

Request watch_request(const Resource& resource, const std::string& version, int timeout_seconds);

// A watch that begins with all objects, at least as new as `version`.
Request streaming_list_request(const Resource& resource, const std::string& version, int timeout_seconds);

Request discovery_request(const Resource& resource);

}  // namespace sluice::kube
