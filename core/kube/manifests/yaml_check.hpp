// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Checks that a text is valid YAML, before yaml-cpp builds a tree of it, which cannot be interrupted.
#pragma once

#include <optional>
#include <string>

namespace sluice::kube {

struct YamlProblem {
  int line = 0;  // counted from 1; 0 = unknown
  std::string text;
};

std::optional<YamlProblem> check_yaml(const std::string& text);

}  // namespace sluice::kube
