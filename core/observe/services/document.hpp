// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The answer to "services" for one family: as lines for people, or as objects for programs. Pure.
// The objects have a schema: docs/schemas/sluicectl-services.schema.json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/observe/services/query.hpp"
#include "core/plugin/inspected_frontend.hpp"
#include "core/snapshot/description.hpp"

namespace sluice::observe {

// Maximum in a document, to bound the memory of the daemon; more are an error.
inline constexpr std::size_t kMaxDocumentEndpoints = 50'000;
// Maximum on a page: endpoints in each list of a line, and endpoint rows of a service port. A document has all.
inline constexpr std::size_t kMaxListedEndpoints = 8;
inline constexpr std::size_t kMaxEndpointRows = 20;
// A page with more service ports has no endpoint rows.
inline constexpr std::size_t kMaxPortsWithRows = 10;

struct FamilyAnswer {
  lib::Family family;
  const std::string& backend;
  const snapshot::Description& description;
  const std::vector<std::string>* kernel;  // lines of the backend; null: the kernel was not read
  // The same as values, with the same indexes; null or empty: the backend has only lines, or nothing was read.
  const std::vector<plugin::InspectedFrontend>* rows = nullptr;
};

// {"family","backend","view":"kernel"|"given","generation","lines":[...]}
nlohmann::json services_page(const FamilyAnswer& answer, const ServiceQuery& query);

// {"family","backend","view","generation","service_ports":[...],"not_proxied":[...],"unwanted":[...]}, or
// {"family","error"} if that would be too long.
nlohmann::json services_document(const FamilyAnswer& answer, const ServiceQuery& query);

}  // namespace sluice::observe
