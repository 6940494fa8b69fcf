// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Where a field stands in a YAML or JSON text; for error messages.
#pragma once

#include <string>
#include <string_view>

namespace sluice::kube {

// The line of `path` ("spec.ports[0].port") in the given document, counted from 1 as in
// yaml_to_json(), or that of the nearest part of it that exists. 0 when the text cannot
// be read that far.
int yaml_line_of(const std::string& text, int document, std::string_view path);

}  // namespace sluice::kube
