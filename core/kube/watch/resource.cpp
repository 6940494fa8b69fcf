// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/resource.hpp"

namespace sluice::kube {
namespace {

constexpr const char* kNotHeadless = "!service.kubernetes.io/headless";
constexpr const char* kDiscoveryPath = "/apis/discovery.k8s.io/v1";
constexpr const char* kPageSize = "500";

Request selected(const Resource& resource) {
  Request out;
  out.path = resource.path;
  if (!resource.label_selector.empty()) out.query.emplace_back("labelSelector", resource.label_selector);
  if (!resource.field_selector.empty()) out.query.emplace_back("fieldSelector", resource.field_selector);
  return out;
}

}  // namespace

Resource services_resource() {
  Resource out;
  out.kind = model::ResourceKind::service;
  out.plural = "services";
  out.object_kind = "Service";
  out.path = "/api/v1/services";
  out.label_selector = "!service.kubernetes.io/service-proxy-name";
  out.field_selector = "spec.clusterIP!=None";
  out.field_selector_optional = true;
  return out;
}

Resource endpoint_slices_resource() {
  Resource out;
  out.kind = model::ResourceKind::endpoint_slice;
  out.plural = "endpointslices";
  out.object_kind = "EndpointSlice";
  out.path = std::string(kDiscoveryPath) + "/endpointslices";
  out.label_selector = kNotHeadless;
  out.discovery_path = kDiscoveryPath;
  return out;
}

Resource endpoints_resource() {
  Resource out;
  out.kind = model::ResourceKind::endpoint_slice;
  out.plural = "endpoints";
  out.object_kind = "Endpoints";
  out.path = "/api/v1/endpoints";
  out.label_selector = kNotHeadless;
  out.discovery_path = kDiscoveryPath;
  out.endpoints = true;
  return out;
}

Resource node_resource(const std::string& node_name) {
  Resource out;
  out.kind = model::ResourceKind::node;
  out.plural = "nodes";
  out.object_kind = "Node";
  out.path = "/api/v1/nodes";
  out.field_selector = "metadata.name=" + node_name;
  return out;
}

Resource service_cidrs_resource() {
  Resource out;
  out.kind = model::ResourceKind::service_cidr;
  out.plural = "servicecidrs";
  out.object_kind = "ServiceCIDR";
  out.path = "/apis/networking.k8s.io/v1/servicecidrs";
  out.older_path = "/apis/networking.k8s.io/v1beta1/servicecidrs";
  out.optional = true;
  out.without = "packets to cluster IPs that no Service has are not dropped";
  out.rule = "apiGroups: [networking.k8s.io], resources: [servicecidrs], verbs: [list, watch]";
  return out;
}

Request list_request(const Resource& resource, const ListPlace& place) {
  Request out = selected(resource);
  // With both resourceVersion and limit, a server returns exactly that version or 410.
  const bool not_older_than = !place.version.empty() && place.version != "0";
  if (!not_older_than && place.paged) out.query.emplace_back("limit", kPageSize);
  if (!place.continue_token.empty()) {
    out.query.emplace_back("continue", place.continue_token);
  } else if (!place.version.empty()) {
    out.query.emplace_back("resourceVersion", place.version);
  }
  return out;
}

Request watch_request(const Resource& resource, const std::string& version, int timeout_seconds) {
  Request out = selected(resource);
  out.watch = true;
  out.query.emplace_back("watch", "true");
  if (!version.empty()) out.query.emplace_back("resourceVersion", version);
  out.query.emplace_back("allowWatchBookmarks", "true");
  out.query.emplace_back("timeoutSeconds", std::to_string(timeout_seconds));
  return out;
}

Request streaming_list_request(const Resource& resource, const std::string& version, int timeout_seconds) {
  Request out = watch_request(resource, version, timeout_seconds);
  out.query.emplace_back("sendInitialEvents", "true");
  out.query.emplace_back("resourceVersionMatch", "NotOlderThan");
  return out;
}

Request discovery_request(const Resource& resource) {
  Request out;
  out.path = resource.discovery_path;
  return out;
}

}  // namespace sluice::kube
