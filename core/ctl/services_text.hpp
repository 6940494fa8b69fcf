// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the daemon answers to "services" as a page for people. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sluice::ctl {

struct ServicesPage {
  std::string text;      // for standard output
  std::string troubles;  // for standard error, in lines: families without an answer, a query that nothing matches
};

// `answer`: with lines or with objects; of the latter there is no text. `query`: what was asked for; empty: everything.
ServicesPage services_page(const nlohmann::json& answer, const std::string& query);

}  // namespace sluice::ctl
