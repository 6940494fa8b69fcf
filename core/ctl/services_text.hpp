// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The reply to the request "services" as text. No I/O.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sluice::ctl {

struct ServicesPage {
  std::string text;      // for standard output
  std::string errors;    // for standard error, in lines: families without a reply, a query without a match
};

// `reply`: with lines or with objects; there is no text for objects. `query`: of the request; empty: everything.
ServicesPage services_page(const nlohmann::json& reply, const std::string& query);

}  // namespace sluice::ctl
