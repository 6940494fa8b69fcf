// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Writes JSON strings.
#pragma once

#include <string>
#include <string_view>

namespace sluice::kube {

// Appends `text` as a JSON string, quotes included.
void append_json_string(std::string& out, std::string_view text);

}  // namespace sluice::kube
