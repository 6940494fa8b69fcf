// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A reply of the daemon as a document.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/ctl/arguments.hpp"

namespace sluice::ctl {

// Indented JSON, or YAML, with a final newline. Bytes that are not UTF-8 are replaced.
// REQUIRES: output is not text
std::string render(const nlohmann::json& reply, Output output);

}  // namespace sluice::ctl
