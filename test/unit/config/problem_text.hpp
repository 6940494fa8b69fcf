// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Problems as lines, "E where: text" or "W where: text", for comparison.
#pragma once

#include <string>

#include "core/config/problems.hpp"

namespace sluice::test {

inline std::string problem_text(const config::Problems& problems) {
  std::string out;
  for (const config::Problem& problem : problems.all()) {
    out += (problem.severity == config::Problem::Severity::error ? "E " : "W ") + problem.to_string() + "\n";
  }
  return out;
}

}  // namespace sluice::test
