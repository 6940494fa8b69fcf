// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Data of Services and endpoints that does not affect traffic: UIDs, application protocols, annotations, zones and pods.
// A source decodes it, and the store keeps it, only while a backend asks for it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/symbol.hpp"
#include "core/model/shared.hpp"

namespace sluice::model {

// What one backend asks for.
struct DetailsRequest {
  bool services = false;   // UID, type and application protocols
  bool endpoints = false;  // zone and pod
  // pack_names() of the prefixes of keys; empty: no annotations.
  base::Symbol annotation_prefixes{};

  bool any() const { return services || endpoints || !annotation_prefixes.empty(); }
  bool operator==(const DetailsRequest&) const = default;
};

// What all backends ask for together.
struct WantedDetails {
  bool services = false;
  bool endpoints = false;
  std::vector<base::Symbol> annotation_prefixes{};  // of each request that has some, without duplicates
  // Of a source that has no details: waiting for another list of it is useless.
  bool unavailable = false;

  void add(const DetailsRequest& request);
  bool operator==(const WantedDetails&) const = default;
};
using WantedDetailsPtr = std::shared_ptr<const WantedDetails>;  // null: none
bool same(const WantedDetailsPtr& one, const WantedDetailsPtr& other);
// Whether lists of Services and EndpointSlices that were decoded with these have all that `request` asks for.
bool covers(const WantedDetailsPtr& of_services, const WantedDetailsPtr& of_endpoints, const DetailsRequest& request);

struct Annotation {
  std::string key;
  std::string value;
  bool operator==(const Annotation&) const = default;
};
using Annotations = std::vector<Annotation>;  // sorted by key

// The keys and values of one Service may have this many bytes for each backend. Tenants write them.
inline constexpr std::size_t kMostAnnotationBytes = 16'384;

struct ServiceDetails {
  struct Selected {
    base::Symbol prefixes;  // of the request that selects them
    Shared<Annotations> annotations;
    bool operator==(const Selected&) const = default;
  };

  Shared<std::string> uid;                  // none: not known
  std::vector<base::Symbol> app_protocols;  // in the order of the ports; empty: no port has one
  std::vector<Selected> annotations;        // without empty ones
  bool operator==(const ServiceDetails&) const = default;

  // None if there are none.
  Shared<Annotations> annotations_for(base::Symbol prefixes) const;
};

struct Pod {
  std::string name;
  std::string uid;
  bool operator==(const Pod&) const = default;
};

// Of an endpoint of a slice, which has the name of the node itself.
struct EndpointDetails {
  base::Symbol zone;
  Shared<Pod> pod;  // none: its target is no pod, or not known
  bool operator==(const EndpointDetails&) const = default;
};

// Whether `text` begins with one of the packed names.
bool has_packed_prefix(base::Symbol packed, std::string_view text);

}  // namespace sluice::model
