// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/refusal.hpp"

#include "core/kube/decode/text.hpp"

namespace sluice::kube {

std::string refusal_text(const std::string& server, const ApiStatus& refusal) {
  std::string out = "the API server " + server + " answers " + std::to_string(refusal.code);
  if (!refusal.reason.empty()) out += " " + refusal.reason;
  if (!refusal.message.empty()) out += ": " + in_quotes(refusal.message);
  return out;
}

std::string refusal_remedy(const ApiStatus& refusal, const Resource& resource) {
  switch (refusal.code) {
    case 401:
      return "; check the credentials";
    case 403:
      return "; grant list and watch on " + resource.plural + ", as ClusterRole system:node-proxier does";
    case 404:
      return "; check that this is the URL of a Kubernetes API server: it does not offer " + resource.path;
    default:
      return {};
  }
}

bool version_expired(const ApiStatus& refusal) { return refusal.expired() || refusal.too_large_resource_version; }

bool is_transient(const ApiStatus& refusal) {
  return refusal.code == 401 || refusal.code == 429 || refusal.code == 502 || refusal.code == 503;
}

bool is_unsupported_request(const ApiStatus& refusal) {
  return refusal.code == 400 || refusal.code == 405 || refusal.code == 422 || refusal.code == 501;
}

bool maybe_no_such_resource(const ApiStatus& refusal) { return refusal.code == 404 || refusal.code == 403; }

bool unknown_field_label(const ApiStatus& refusal) {
  return refusal.code == 400 && refusal.message.find("field label not supported") != std::string::npos;
}

}  // namespace sluice::kube
