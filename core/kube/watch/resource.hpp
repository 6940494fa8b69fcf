// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What is listed and watched (BEH 1.1), and the requests for it (BEH 1.5). Pure.
#pragma once

#include <string>

#include "core/kube/http/transport.hpp"
#include "core/model/event.hpp"

namespace sluice::kube {

struct Resource {
  model::ResourceKind kind;
  std::string plural;       // "services"
  std::string object_kind;  // "Service"; what the objects call themselves
  std::string path;
  std::string older_path;  // of an older version, asked where the server does not know `path`
  std::string label_selector;
  std::string field_selector;
  bool field_selector_optional = false;  // old servers do not know the field
  // Where a server says whether it has EndpointSlices; empty for resources that every server has.
  std::string discovery_path;
  bool endpoints = false;  // core/v1 Endpoints in the place of EndpointSlices
  // Can be done without: the server need not have it, nor show it to us. Then: what that
  // means for traffic, and the rule of RBAC that shows it.
  bool optional = false;
  std::string without;
  std::string rule;
};

Resource services_resource();
Resource endpoint_slices_resource();
Resource endpoints_resource();
Resource node_resource(const std::string& node_name);
Resource service_cidrs_resource();

// A page of a list. An empty version asks for the newest state; `paged` asks for pages.
struct ListPlace {
  std::string version;
  std::string continue_token;
  bool paged = true;
};
Request list_request(const Resource& resource, const ListPlace& place);

Request watch_request(const Resource& resource, const std::string& version, int timeout_seconds);

// A watch that begins with everything there is, at least as new as `version`.
Request streaming_list_request(const Resource& resource, const std::string& version, int timeout_seconds);

Request discovery_request(const Resource& resource);

}  // namespace sluice::kube
