// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the daemon answers to "services" as a page for people. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sluice::ctl {

struct ServicesPage {
  std::string text;      // for standard output
  std::string troubles;  // for standard error, in lines: families that could not be looked at, a name nobody has
};

// `name`: what was asked for; empty: everything.
ServicesPage services_page(const nlohmann::json& answer, const std::string& name);

}  // namespace sluice::ctl
