// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// An answer of the daemon as a document.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/ctl/arguments.hpp"

namespace sluice::ctl {

// JSON with indentation or YAML, with the last line ended. Bytes that are not UTF-8 are replaced.
// REQUIRES: output is not text
std::string rendered(const nlohmann::json& answer, Output output);

}  // namespace sluice::ctl
