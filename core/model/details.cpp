// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/model/details.hpp"

#include <algorithm>

#include "lib/text.hpp"

namespace sluice::model {
namespace {

bool contains(const std::vector<base::Symbol>& all, base::Symbol one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

void WantedDetails::add(const DetailsRequest& request) {
  services = services || request.services;
  endpoints = endpoints || request.endpoints;
  const base::Symbol prefixes = request.annotation_prefixes;
  if (!prefixes.empty() && !contains(annotation_prefixes, prefixes)) annotation_prefixes.push_back(prefixes);
}

bool same(const WantedDetailsPtr& one, const WantedDetailsPtr& other) {
  const WantedDetails none;
  return (one ? *one : none) == (other ? *other : none);
}

bool covers(const WantedDetailsPtr& of_services, const WantedDetailsPtr& of_endpoints, const DetailsRequest& request) {
  const WantedDetails none;
  const WantedDetails& services = of_services ? *of_services : none;
  const WantedDetails& endpoints = of_endpoints ? *of_endpoints : none;
  const base::Symbol prefixes = request.annotation_prefixes;
  const bool has_annotations = prefixes.empty() || contains(services.annotation_prefixes, prefixes);
  return (services.unavailable || ((services.services || !request.services) && has_annotations)) &&
         (endpoints.unavailable || endpoints.endpoints || !request.endpoints);
}

Shared<Annotations> ServiceDetails::annotations_for(base::Symbol prefixes) const {
  const auto found = std::find_if(annotations.begin(), annotations.end(),
                                  [&](const Selected& one) { return one.prefixes == prefixes; });
  return found == annotations.end() ? Shared<Annotations>() : found->annotations;
}

bool has_packed_prefix(base::Symbol packed, std::string_view text) {
  std::string_view rest = packed.text();
  while (!rest.empty()) {
    if (text.starts_with(lib::take_part(rest, '\n'))) return true;
  }
  return false;
}

}  // namespace sluice::model
