// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The replies to the request "inspect" as text. No I/O.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace sluice::ctl {

struct InspectPage {
  std::string text;      // for standard output
  std::string errors;    // for standard error, in lines: families without a reply
};

// Differences between the kernel and what the backend wrote.
InspectPage diff_page(const nlohmann::json& reply);
// Whether the kernel differs. Objects of others do not count: no repair removes them, and many nodes have some.
bool has_drift(const nlohmann::json& reply);

// Traffic by service port and frontend; with `endpoints` also by endpoint.
InspectPage counters_page(const nlohmann::json& reply, bool endpoints);

// The steps of one packet and its verdict.
InspectPage explanation_page(const nlohmann::json& reply);

}  // namespace sluice::ctl
