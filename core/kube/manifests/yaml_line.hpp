// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Finds the line of a field in a YAML or JSON text, for error messages.
#pragma once

#include <string>
#include <string_view>

namespace sluice::kube {

// The line of `path` ("spec.ports[0].port"), or of its deepest part that exists. `document` counts from 1 as in
// yaml_to_json(). 0 if the text cannot be parsed that far.
int yaml_line_of(const std::string& text, int document, std::string_view path);

}  // namespace sluice::kube
