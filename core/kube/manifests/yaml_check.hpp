// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Whether a text is YAML that can be read to its end; for readers that build trees, which
// cannot be stopped on the way.
#pragma once

#include <optional>
#include <string>

namespace sluice::kube {

struct YamlProblem {
  int line = 0;  // counted from 1; 0 = no place
  std::string text;
};

std::optional<YamlProblem> check_yaml(const std::string& text);

}  // namespace sluice::kube
