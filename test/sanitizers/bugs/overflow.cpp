// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Deliberately wrong: a sum that does not fit.
#include <limits>

int main(int argc, char**) {
  volatile int number = std::numeric_limits<int>::max();
  number = number + argc;
  return number == 0 ? 1 : 0;
}
