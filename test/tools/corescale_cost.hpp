// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The cost of a piece of work: CPU time and instructions of the whole process, and heap memory with what malloc() adds
// to each block. Instructions, bytes and numbers of allocations are about the same in every run; CPU time is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace corescale {

struct Cost {
  double cpu = 0;                 // seconds, user and system, of all threads
  std::uint64_t instructions = 0;  // number; 0: not counted
  std::uint64_t allocations = 0;  // number
  std::uint64_t allocated = 0;    // bytes in total, those that were freed included
  std::size_t peak = 0;           // bytes: maximum of what was held, beyond what was held before
  std::int64_t growth = 0;        // bytes held after the work, beyond what was held before
};

// Lets malloc() finish what it has put off: it sorts freed blocks only when a later call needs one.
void settle_heap();

// Measures from its construction. One at a time, because it resets the peak of the process.
class Meter {
 public:
  Meter();
  // Once: it ends the counting of instructions.
  Cost read() const;

 private:
  double cpu_;
  std::uint64_t allocations_;
  std::uint64_t allocated_;
  std::size_t held_;
};

struct Point {
  double size = 0;
  double cost = 0;
};

// The exponent b of the power law cost = a × size^b that fits best: the slope of a line through the logarithms.
// REQUIRES: two or more sizes, costs above 0.
double exponent(const std::vector<Point>& points);

}  // namespace corescale
