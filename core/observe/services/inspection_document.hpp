// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Inspected rows as JSON, for the request "inspect". Pure.
// The rows have schemas: docs/schemas/sluicectl-{counters,diff,explain}.schema.json.
#pragma once

#include <nlohmann/json.hpp>

#include "core/plugin/backend_handle.hpp"

namespace sluice::observe {

// The rows of this kind in `outcome`. Frontends are not a kind of this request: services_document() has them.
nlohmann::json inspected_rows(const plugin::InspectionOutcome& outcome, abi::InspectionKind kind);

// {"address","port","object","draining","remarks"}
nlohmann::json target_json(const plugin::InspectedTarget& target);

}  // namespace sluice::observe
