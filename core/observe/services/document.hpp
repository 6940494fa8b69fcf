// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The answer to "services" for one family: as lines for people, or as objects for programs. Pure.
// The objects have a schema: docs/schemas/sluicectl-services.schema.json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/observe/services/query.hpp"
#include "core/snapshot/description.hpp"

namespace sluice::observe {

// In a document; more are refused with a sentence, because the daemon's memory is the node's.
inline constexpr std::size_t kMostDocumentEndpoints = 50'000;
// On a page: of each list in a line, and rows about single endpoints of a service port. A document has all.
inline constexpr std::size_t kMostListedEndpoints = 8;
inline constexpr std::size_t kMostEndpointRows = 20;
// On a page: with more service ports than these there are no rows about single endpoints.
inline constexpr std::size_t kMostPortsWithRows = 10;

struct FamilyAnswer {
  base::Family family;
  const std::string& backend;
  const snapshot::Description& description;
  const std::vector<std::string>* kernel;  // lines of the backend; null: the kernel was not read
};

// {"family","backend","view":"kernel"|"given","generation","lines":[...]}
nlohmann::json services_page(const FamilyAnswer& answer, const ServiceQuery& query);

// {"family","backend","view","generation","service_ports":[...],"not_proxied":[...],"unwanted":[...]}, or
// {"family","error"} when that would be too long.
nlohmann::json services_document(const FamilyAnswer& answer, const ServiceQuery& query);

}  // namespace sluice::observe
