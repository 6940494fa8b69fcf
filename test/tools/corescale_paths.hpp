// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What is measured: each path at three sizes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "corescale_cost.hpp"

namespace corescale {

struct Phase {
  std::string name;
  Cost cost;
};

// Heap memory for each of the units that grow: at most this, at the largest size.
struct Bounds {
  std::string unit;  // "endpoint"
  double held = 0;   // bytes at rest, after the first transaction; 0: not bounded
  double peak = 0;   // bytes during the first transaction
};

struct Path {
  std::string name;
  std::vector<std::size_t> sizes;
  std::function<std::vector<Phase>(std::size_t size)> run;
  Bounds bounds;
};

// `full`: the sizes that the documentation states; otherwise smaller ones. `counted`: yet smaller ones, because counting
// instructions takes about 40 times the time.
std::vector<Path> core_paths(bool full, bool counted);
// Paths whose cost is known, one of them quadratic in time, one in memory.
std::vector<Path> known_paths();

}  // namespace corescale
